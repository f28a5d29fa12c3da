# EMR Serverless, for batch jobs that should pay for nothing but their own seconds.

data "aws_iam_policy_document" "job_trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["emr-serverless.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [local.account_id]
    }
  }
}

resource "aws_iam_role" "job" {
  count              = var.serverless ? 1 : 0
  name               = "${var.name}-jobs"
  description        = "Jobs of the EMR Serverless application of ${var.name}"
  assume_role_policy = data.aws_iam_policy_document.job_trust.json
  tags               = local.tags
}

resource "aws_iam_role_policy" "job_bucket" {
  count  = var.serverless ? 1 : 0
  name   = "bucket"
  role   = one(aws_iam_role.job).id
  policy = data.aws_iam_policy_document.bucket.json
}

resource "aws_iam_role_policy" "job_key" {
  count  = var.serverless ? 1 : 0
  name   = "key"
  role   = one(aws_iam_role.job).id
  policy = data.aws_iam_policy_document.use_key.json
}

resource "aws_emrserverless_application" "this" {
  count         = var.serverless ? 1 : 0
  name          = var.name
  release_label = var.release_label
  type          = "SPARK" # in capitals: AWS answers so, and a plan would never settle

  maximum_capacity {
    cpu    = "${var.serverless_max_vcpu} vCPU"
    memory = "${var.serverless_max_vcpu * 8} GB"
    disk   = "${var.serverless_max_vcpu * 50} GB"
  }

  auto_start_configuration {
    enabled = true
  }

  auto_stop_configuration {
    enabled              = true
    idle_timeout_minutes = 15
  }

  tags = local.tags
}
