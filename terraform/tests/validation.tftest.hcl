# Each validation says no to what it is there for.

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

override_data {
  target = module.emr.data.aws_caller_identity.current
  values = { account_id = "123456789012" }
}

run "wrong_values" {
  command = plan

  module {
    source = "./modules/emr"
  }

  variables {
    name                  = "UPPER"
    subnet_id             = "vpc-1"
    vpc_cidr              = "10.0.0.0/8"
    release_label         = "emr-5.36.0"
    primary_instance_type = "big"
    core_instance_type    = "m5"
    core_instance_count   = 0
    core_spot_bid_usd     = 0
    ebs_gb                = 9
    spark_properties      = { "hive.x" = "1" }
    idle_timeout_s        = 59
    connect_port          = 80
    connect_idle_s        = 0
    certificates_zip      = "./no-such.zip"
    bucket_name           = "Big_Bucket"
    log_days              = 0
    serverless_max_vcpu   = 1
    budget_usd            = 0
    budget_emails         = ["nobody"]
  }

  expect_failures = [
    var.name,
    var.subnet_id,
    var.vpc_cidr,
    var.release_label,
    var.primary_instance_type,
    var.core_instance_type,
    var.core_instance_count,
    var.core_spot_bid_usd,
    var.ebs_gb,
    var.spark_properties,
    var.idle_timeout_s,
    var.connect_port,
    var.connect_idle_s,
    var.certificates_zip,
    var.bucket_name,
    var.log_days,
    var.serverless_max_vcpu,
    var.budget_usd,
    var.budget_emails,
  ]
}

run "other_wrong_values" {
  command = plan

  module {
    source = "./modules/emr"
  }

  variables {
    vpc_cidr            = "nonsense"
    core_instance_count = 2.5
    core_spot_bid_usd   = 100
    ebs_gb              = 16385
    idle_timeout_s      = 604801
    connect_port        = 65536
    subnet_id           = ""
    spark_connect_jar   = "/local.jar"
  }

  expect_failures = [
    var.vpc_cidr,
    var.core_instance_count,
    var.core_spot_bid_usd,
    var.ebs_gb,
    var.idle_timeout_s,
    var.connect_port,
    var.subnet_id,
    var.spark_connect_jar,
  ]
}

run "an_old_release_without_the_jar" {
  command = plan

  module {
    source = "./modules/emr"
  }

  variables {
    release_label = "emr-7.13.0"
  }

  expect_failures = [
    var.spark_connect_jar,
  ]
}

run "root" {
  command = plan

  variables {
    owner   = ""
    expires = "2027-02-31"
    region  = "Frankfurt"
  }

  expect_failures = [
    var.owner,
    var.expires,
    var.region,
  ]
}
