output "cluster_id" {
  description = "The cluster's id, such as j-1ABCDEFGHIJKL."
  value       = aws_emr_cluster.this.id
}

output "primary_dns" {
  description = "The primary node's name, which only the VPC knows."
  value       = aws_emr_cluster.this.master_public_dns
}

output "region" {
  description = "Where all of it is."
  value       = local.region
}

output "bucket" {
  description = "The bucket for data and results."
  value       = aws_s3_bucket.this.id
}

output "log_uri" {
  description = "Where logs go."
  value       = local.log_uri
}

output "kms_key_arn" {
  description = "The key of the bucket and the disks."
  value       = aws_kms_key.this.arn
}

output "connect_port" {
  description = "The Spark Connect server's port, on the primary node's loopback."
  value       = var.connect_port
}

output "service_role_arn" {
  description = "The role of EMR itself."
  value       = aws_iam_role.service.arn
}

output "node_role_arn" {
  description = "The role of the nodes, and with them of Spark."
  value       = aws_iam_role.nodes.arn
}

output "serverless_application_id" {
  description = "The EMR Serverless application's id; null where there is none."
  value       = one(aws_emrserverless_application.this[*].id)
}

output "serverless_role_arn" {
  description = "The role of the EMR Serverless application's jobs; null where there is none."
  value       = one(aws_iam_role.job[*].arn)
}

output "price" {
  description = "The cluster in the words of --machine. A spot node has its bid, the most that it can cost."
  value = format(
    "emr:%s+%dx%s%s?ebs_gb=%d",
    var.primary_instance_type,
    var.core_instance_count,
    var.core_instance_type,
    var.core_spot_bid_usd == null ? "" : "@${var.core_spot_bid_usd}",
    var.ebs_gb,
  )
}
