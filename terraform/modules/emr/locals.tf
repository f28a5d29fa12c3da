data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

locals {
  account_id = data.aws_caller_identity.current.account_id
  partition  = data.aws_partition.current.partition
  region     = data.aws_region.current.name

  # AmazonEMRServicePolicy_v2 lets EMR touch only what has this tag.
  tags = merge(var.tags, { "for-use-with-amazon-emr-managed-policies" = "true" })

  # From names rather than from the resources: known in the plan, where policies can be read.
  bucket     = coalesce(var.bucket_name, "${var.name}-${local.account_id}-${local.region}")
  bucket_arn = "arn:${local.partition}:s3:::${local.bucket}"
  log_uri    = "s3://${local.bucket}/logs/"
}
