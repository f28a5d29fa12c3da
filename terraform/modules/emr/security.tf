# One key for the bucket and the disks, and EMR's security configuration.

data "aws_iam_policy_document" "key" {
  #checkov:skip=CKV_AWS_109: In a key's policy the account's own administration is what keeps the key manageable
  #checkov:skip=CKV_AWS_111: The same
  #checkov:skip=CKV_AWS_356: In a key's policy "*" is this key
  statement {
    sid       = "AccountAdministers"
    actions   = ["kms:*"]
    resources = ["*"]

    principals {
      type        = "AWS"
      identifiers = ["arn:${local.partition}:iam::${local.account_id}:root"]
    }
  }
}

resource "aws_kms_key" "this" {
  description             = "Bucket and disks of ${var.name}"
  enable_key_rotation     = true
  deletion_window_in_days = 7
  policy                  = data.aws_iam_policy_document.key.json
  tags                    = local.tags
}

resource "aws_kms_alias" "this" {
  name          = "alias/${var.name}"
  target_key_id = aws_kms_key.this.key_id
}

resource "aws_emr_security_configuration" "this" {
  name_prefix = "${var.name}-"

  configuration = jsonencode({
    EncryptionConfiguration = merge(
      {
        EnableAtRestEncryption = true
        AtRestEncryptionConfiguration = {
          S3EncryptionConfiguration = {
            EncryptionMode = "SSE-KMS"
            AwsKmsKey      = aws_kms_key.this.arn
          }
          LocalDiskEncryptionConfiguration = {
            EncryptionKeyProviderType = "AwsKms"
            AwsKmsKey                 = aws_kms_key.this.arn
            EnableEbsEncryption       = true
          }
        }
        EnableInTransitEncryption = var.certificates_zip != null
      },
      var.certificates_zip == null ? {} : {
        InTransitEncryptionConfiguration = {
          TLSCertificateConfiguration = {
            CertificateProviderType = "PEM"
            S3Object                = "s3://${local.bucket}/${one(aws_s3_object.certificates[*].key)}"
          }
        }
      },
    )
    # Of the instance metadata only version 2, which a forged request cannot read.
    InstanceMetadataServiceConfiguration = {
      MinimumInstanceMetadataServiceVersion = 2
      HttpPutResponseHopLimit               = 1
    }
  })

  lifecycle {
    create_before_destroy = true
  }
}
