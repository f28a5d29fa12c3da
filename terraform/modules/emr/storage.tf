# One bucket holds data, results, logs (logs/) and what the nodes start with (bootstrap/).

resource "aws_s3_bucket" "this" {
  #checkov:skip=CKV_AWS_18: Access logs would need a second bucket, and the data here is public or generated
  #checkov:skip=CKV_AWS_144: What is here can be made again; a copy in another region would double its cost
  #checkov:skip=CKV2_AWS_62: Nothing waits for objects to appear
  bucket        = local.bucket
  force_destroy = var.force_destroy
  tags          = local.tags
}

resource "aws_s3_bucket_public_access_block" "this" {
  bucket                  = aws_s3_bucket.this.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_versioning" "this" {
  bucket = aws_s3_bucket.this.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    bucket_key_enabled = true # one call to KMS for many objects

    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.this.arn
    }
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    id     = "logs"
    status = "Enabled"

    filter {
      prefix = "logs/"
    }

    expiration {
      days = var.log_days
    }
  }

  rule {
    id     = "leftovers"
    status = "Enabled"

    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 3
    }

    noncurrent_version_expiration {
      noncurrent_days = 7
    }
  }

  depends_on = [aws_s3_bucket_versioning.this]
}

data "aws_iam_policy_document" "tls_only" {
  statement {
    sid       = "DenyInsecureTransport"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [local.bucket_arn, "${local.bucket_arn}/*"]

    principals {
      type        = "*"
      identifiers = ["*"]
    }

    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }
}

resource "aws_s3_bucket_policy" "this" {
  bucket     = aws_s3_bucket.this.id
  policy     = data.aws_iam_policy_document.tls_only.json
  depends_on = [aws_s3_bucket_public_access_block.this]
}

resource "aws_s3_object" "bootstrap" {
  for_each   = toset(["connect_server.sh", "ssm_agent.sh"])
  bucket     = aws_s3_bucket.this.id
  key        = "bootstrap/${each.key}"
  source     = "${path.module}/files/${each.key}"
  kms_key_id = aws_kms_key.this.arn
  # Not etag: that of an object that KMS encrypts is not its MD5.
  source_hash = filemd5("${path.module}/files/${each.key}")
}

resource "aws_s3_object" "certificates" {
  count       = var.certificates_zip == null ? 0 : 1
  bucket      = aws_s3_bucket.this.id
  key         = "bootstrap/certificates-${filemd5(var.certificates_zip)}.zip"
  source      = var.certificates_zip
  kms_key_id  = aws_kms_key.this.arn
  source_hash = filemd5(var.certificates_zip)
}
