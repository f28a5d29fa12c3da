# Two roles: EMR's own, which makes and ends nodes, and that of the nodes, which Spark runs as.

locals {
  service_role_name = "${var.name}-service"
  node_role_name    = "${var.name}-nodes"
  node_role_arn     = "arn:${local.partition}:iam::${local.account_id}:role/${local.node_role_name}"
}

data "aws_iam_policy_document" "service_trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["elasticmapreduce.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [local.account_id]
    }

    condition {
      test     = "ArnLike"
      variable = "aws:SourceArn"
      values   = ["arn:${local.partition}:elasticmapreduce:${local.region}:${local.account_id}:*"]
    }
  }
}

resource "aws_iam_role" "service" {
  name               = local.service_role_name
  description        = "EMR itself, for the cluster of ${var.name}"
  assume_role_policy = data.aws_iam_policy_document.service_trust.json
  tags               = local.tags
}

resource "aws_iam_role_policy_attachment" "service" {
  role       = aws_iam_role.service.name
  policy_arn = "arn:${local.partition}:iam::aws:policy/service-role/AmazonEMRServicePolicy_v2"
}

data "aws_iam_policy_document" "pass_node_role" {
  statement {
    sid       = "GiveTheNodesTheirRole"
    actions   = ["iam:PassRole"]
    resources = [local.node_role_arn]

    condition {
      test     = "StringEquals"
      variable = "iam:PassedToService"
      values   = ["ec2.amazonaws.com"]
    }
  }
}

resource "aws_iam_role_policy" "service_pass" {
  name   = "pass-node-role"
  role   = aws_iam_role.service.id
  policy = data.aws_iam_policy_document.pass_node_role.json
}

# What KMS asks for so that EC2 can attach encrypted disks for EMR.
data "aws_iam_policy_document" "service_key" {
  statement {
    sid       = "EncryptDisks"
    actions   = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:DescribeKey"]
    resources = [aws_kms_key.this.arn]
  }

  statement {
    sid       = "GrantDisksTheirKey"
    actions   = ["kms:CreateGrant"]
    resources = [aws_kms_key.this.arn]

    condition {
      test     = "Bool"
      variable = "kms:GrantIsForAWSResource"
      values   = ["true"]
    }
  }
}

resource "aws_iam_role_policy" "service_key" {
  name   = "key"
  role   = aws_iam_role.service.id
  policy = data.aws_iam_policy_document.service_key.json
}

data "aws_iam_policy_document" "node_trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "nodes" {
  name               = local.node_role_name
  description        = "Nodes of ${var.name}, and with them Spark"
  assume_role_policy = data.aws_iam_policy_document.node_trust.json
  tags               = local.tags
}

resource "aws_iam_instance_profile" "nodes" {
  name = local.node_role_name
  role = aws_iam_role.nodes.name
  tags = local.tags
}

data "aws_iam_policy_document" "bucket" {
  statement {
    sid       = "ListTheBucket"
    actions   = ["s3:ListBucket", "s3:ListBucketMultipartUploads", "s3:GetBucketLocation"]
    resources = [local.bucket_arn]
  }

  statement {
    sid       = "ReadAndWriteObjects"
    actions   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
    resources = ["${local.bucket_arn}/*"]
  }

  # Logs are evidence: whoever runs on the nodes may add to them, not take away.
  statement {
    sid       = "KeepLogsAndBootstrap"
    effect    = "Deny"
    actions   = ["s3:DeleteObject", "s3:DeleteObjectVersion"]
    resources = ["${local.bucket_arn}/logs/*", "${local.bucket_arn}/bootstrap/*"]
  }

  statement {
    sid       = "LeaveBootstrapAsItIs"
    effect    = "Deny"
    actions   = ["s3:PutObject"]
    resources = ["${local.bucket_arn}/bootstrap/*"]
  }
}

data "aws_iam_policy_document" "use_key" {
  statement {
    sid       = "UseTheKey"
    actions   = ["kms:Encrypt", "kms:Decrypt", "kms:GenerateDataKey", "kms:DescribeKey"]
    resources = [aws_kms_key.this.arn]
  }
}

resource "aws_iam_role_policy" "nodes_bucket" {
  name   = "bucket"
  role   = aws_iam_role.nodes.id
  policy = data.aws_iam_policy_document.bucket.json
}

resource "aws_iam_role_policy" "nodes_key" {
  name   = "key"
  role   = aws_iam_role.nodes.id
  policy = data.aws_iam_policy_document.use_key.json
}

# Session Manager, in place of open ports and keys.
resource "aws_iam_role_policy_attachment" "nodes_ssm" {
  role       = aws_iam_role.nodes.name
  policy_arn = "arn:${local.partition}:iam::aws:policy/AmazonSSMManagedInstanceCore"
}
