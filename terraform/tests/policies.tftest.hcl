# What the roles may do and who reaches the bucket, read from the JSON that AWS would get. The real
# provider plans; nothing is asked of AWS.

provider "aws" {
  region                      = "us-east-1"
  access_key                  = "none"
  secret_key                  = "none"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
}

override_data {
  target = data.aws_caller_identity.current
  values = { account_id = "123456789012" }
}

run "policies" {
  command = plan

  module {
    source = "./modules/emr"
  }

  variables {
    serverless = true
  }

  assert {
    condition = toset(flatten([
      for each in jsondecode(data.aws_iam_policy_document.bucket.json).Statement : each.Resource if each.Effect == "Allow"
      ])) == toset([
      "arn:aws:s3:::bothends-123456789012-us-east-1",
      "arn:aws:s3:::bothends-123456789012-us-east-1/*",
    ])
    error_message = "The nodes may reach a bucket that is not this one."
  }

  assert {
    condition = toset(flatten([
      for each in jsondecode(data.aws_iam_policy_document.bucket.json).Statement : each.Action if each.Effect == "Allow"
      ])) == toset([
      "s3:ListBucket", "s3:ListBucketMultipartUploads", "s3:GetBucketLocation", "s3:GetObject", "s3:PutObject",
      "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts",
    ])
    error_message = "The nodes may do other things to the bucket than read, write and list."
  }

  assert {
    condition = anytrue([
      for each in jsondecode(data.aws_iam_policy_document.bucket.json).Statement :
      each.Effect == "Deny" && contains(flatten([each.Action]), "s3:PutObject") && contains(flatten([each.Resource]), "arn:aws:s3:::bothends-123456789012-us-east-1/bootstrap/*")
    ])
    error_message = "The nodes may change what the next cluster starts with."
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.nodes_bucket.policy) == jsondecode(data.aws_iam_policy_document.bucket.json)
    error_message = "The nodes have another policy than the one that is checked here."
  }

  assert {
    condition = [
      for each in jsondecode(aws_s3_bucket_policy.this.policy).Statement :
      [each.Effect, each.Principal, each.Action, each.Condition.Bool["aws:SecureTransport"], toset(each.Resource)]
      ] == [["Deny", "*", "s3:*", "false", toset([
        "arn:aws:s3:::bothends-123456789012-us-east-1",
        "arn:aws:s3:::bothends-123456789012-us-east-1/*",
    ])]]
    error_message = "The bucket does not refuse whoever comes without TLS, or says something else besides."
  }

  assert {
    condition = [
      for each in jsondecode(aws_iam_role_policy.service_pass.policy).Statement :
      [each.Action, each.Resource, each.Condition.StringEquals["iam:PassedToService"]]
    ] == [["iam:PassRole", "arn:aws:iam::123456789012:role/bothends-nodes", "ec2.amazonaws.com"]]
    error_message = "EMR may pass on another role than the nodes', or to something that is not EC2."
  }

  assert {
    condition = (
      jsondecode(aws_iam_role.service.assume_role_policy).Statement[0].Principal.Service == "elasticmapreduce.amazonaws.com" &&
      jsondecode(aws_iam_role.service.assume_role_policy).Statement[0].Condition.StringEquals["aws:SourceAccount"] == "123456789012"
    )
    error_message = "Others than this account's EMR may take the service role."
  }

  assert {
    condition     = jsondecode(aws_iam_role.nodes.assume_role_policy).Statement[0].Principal.Service == "ec2.amazonaws.com"
    error_message = "Others than EC2 may take the nodes' role."
  }

  assert {
    condition = [aws_iam_role_policy_attachment.service.policy_arn, aws_iam_role_policy_attachment.nodes_ssm.policy_arn] == [
      "arn:aws:iam::aws:policy/service-role/AmazonEMRServicePolicy_v2",
      "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore",
    ]
    error_message = "A role has another managed policy than expected."
  }

  assert {
    condition = alltrue([
      aws_s3_bucket_public_access_block.this.block_public_acls,
      aws_s3_bucket_public_access_block.this.block_public_policy,
      aws_s3_bucket_public_access_block.this.ignore_public_acls,
      aws_s3_bucket_public_access_block.this.restrict_public_buckets,
    ])
    error_message = "The bucket can be made public."
  }

  assert {
    condition     = jsondecode(one(aws_iam_role_policy.job_bucket).policy) == jsondecode(data.aws_iam_policy_document.bucket.json)
    error_message = "Jobs of EMR Serverless may reach something else than the nodes."
  }

  assert {
    condition     = jsondecode(one(aws_iam_role.job).assume_role_policy).Statement[0].Principal.Service == "emr-serverless.amazonaws.com"
    error_message = "Others than EMR Serverless may take its role."
  }

  assert {
    condition     = lower(one(aws_emrserverless_application.this).type) == "spark"
    error_message = "The application is not one of Spark's."
  }
}
