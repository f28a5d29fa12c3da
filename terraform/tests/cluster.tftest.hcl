# What is made by default, and what each choice changes.

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

run "defaults_are_cheap_private_and_end" {
  command = plan

  module {
    source = "./modules/emr"
  }

  assert {
    condition     = output.price == "emr:m5.xlarge+2xm5.xlarge?ebs_gb=64"
    error_message = "The default cluster is another one than README.md prices."
  }

  assert {
    condition = (
      one(aws_emr_cluster.this.core_instance_group).instance_count == 2 &&
      one(one(aws_emr_cluster.this.core_instance_group).ebs_config).type == "gp3" &&
      one(one(aws_emr_cluster.this.master_instance_group).ebs_config).size == 64
    )
    error_message = "The nodes are not those that the price is for."
  }

  assert {
    condition     = one(aws_emr_cluster.this.core_instance_group).bid_price == null
    error_message = "Nodes are spot without a bid."
  }

  assert {
    condition = (
      one(aws_emr_cluster.this.auto_termination_policy).idle_timeout == 3600 && aws_emr_cluster.this.termination_protection == false
    )
    error_message = "The cluster does not end by itself after an hour."
  }

  assert {
    condition     = toset(keys(aws_vpc_endpoint.interface)) == toset(["kms", "ssm", "ssmmessages", "ec2messages"])
    error_message = "The subnet lacks an endpoint, or pays for one too many."
  }

  assert {
    condition     = one(aws_vpc_endpoint.s3).vpc_endpoint_type == "Gateway" && one(aws_subnet.private).map_public_ip_on_launch == false
    error_message = "The subnet is not private, or has no free way to S3."
  }

  assert {
    condition = alltrue([
      for each in concat(
        [aws_vpc_security_group_ingress_rule.service],
        values(aws_vpc_security_group_ingress_rule.from_service),
        values(aws_vpc_security_group_ingress_rule.endpoints),
      ) : each.cidr_ipv4 == null && each.cidr_ipv6 == null
    ])
    error_message = "A rule lets in addresses; only groups of our own may come in."
  }

  assert {
    condition = alltrue([
      for each in values(aws_vpc_security_group_egress_rule.https) : each.from_port == 443 && each.to_port == 443
    ])
    error_message = "More than HTTPS leaves the nodes."
  }

  assert {
    condition     = length(aws_budgets_budget.this) == 0 && length(aws_emrserverless_application.this) == 0
    error_message = "Something is made that nobody asked for."
  }

  assert {
    condition = [
      for each in jsondecode(aws_emr_cluster.this.configurations_json) : each.Properties["spark.network.crypto.enabled"]
      if each.Classification == "spark-defaults"
    ] == ["true"]
    error_message = "Without certificates Spark does not encrypt what it sends."
  }

  assert {
    condition = [
      for each in jsondecode(aws_emr_cluster.this.configurations_json) : each.Properties if each.Classification == "yarn-site"
      ] == [
      { "spark.authenticate" = "true", "spark.network.crypto.enabled" = "true" }
    ]
    error_message = "YARN's shuffle service does not speak as Spark does, and no shuffle would get through."
  }

  assert {
    condition     = slice(one(one(aws_emr_cluster.this.step).hadoop_jar_step).args, 4, 6) == tolist(["15002", "1800"])
    error_message = "The Spark Connect server starts on another port, or stays for another time."
  }

  assert {
    condition     = aws_s3_bucket.this.force_destroy == false
    error_message = "Destroying deletes data that nobody said could go."
  }
}

run "choices" {
  command = plan

  module {
    source = "./modules/emr"
  }

  variables {
    core_instance_count = 4
    core_instance_type  = "r5.2xlarge"
    core_spot_bid_usd   = 0.25
    ssm_endpoints       = false
    budget_emails       = ["someone@example.org"]
    spark_properties    = { "spark.sql.shuffle.partitions" = "64", "spark.network.crypto.enabled" = "false" }
    certificates_zip    = "./paper.tfvars" # any file: it is not looked into
    release_label       = "emr-7.13.0"
    spark_connect_jar   = "s3://bucket/spark-connect_2.12-3.5.6.jar"
  }

  assert {
    condition     = one(aws_emr_cluster.this.core_instance_group).bid_price == "0.25" && output.price == "emr:m5.xlarge+4xr5.2xlarge@0.25?ebs_gb=64"
    error_message = "A bid does not make the core nodes spot, or does not reach the price."
  }

  assert {
    condition     = toset(keys(aws_vpc_endpoint.interface)) == toset(["kms"])
    error_message = "There are endpoints that were not wanted."
  }

  assert {
    condition = (
      one(aws_budgets_budget.this).limit_amount == "100" && length(one(aws_budgets_budget.this).notification) == 2
    )
    error_message = "The budget is not of 100 dollars with two alarms."
  }

  assert {
    condition = [
      for each in jsondecode(aws_emr_cluster.this.configurations_json) :
      [each.Properties["spark.sql.shuffle.partitions"], each.Properties["spark.network.crypto.enabled"]]
      if each.Classification == "spark-defaults"
    ] == [["64", "false"]]
    error_message = "The user's Spark properties do not go before the module's."
  }

  assert {
    condition     = one(aws_s3_object.certificates).key == "bootstrap/certificates-${filemd5("./paper.tfvars")}.zip"
    error_message = "The certificates do not get to the bucket."
  }

  assert {
    condition     = one(one(aws_emr_cluster.this.step).hadoop_jar_step).args[6] == "s3://bucket/spark-connect_2.12-3.5.6.jar"
    error_message = "The jar does not reach the server."
  }
}

run "a_subnet_of_ones_own" {
  command = plan

  module {
    source = "./modules/emr"
  }

  override_data {
    target = data.aws_subnet.given
    values = { vpc_id = "vpc-0a1b2c3d" }
  }

  variables {
    subnet_id = "subnet-0a1b2c3d"
  }

  assert {
    condition     = length(aws_vpc.this) + length(aws_vpc_endpoint.interface) + length(aws_vpc_endpoint.s3) == 0
    error_message = "A network is made beside the one that was given."
  }

  assert {
    condition     = one(aws_emr_cluster.this.ec2_attributes).subnet_id == "subnet-0a1b2c3d" && aws_security_group.core.vpc_id == "vpc-0a1b2c3d"
    error_message = "The cluster is not in the subnet that was given."
  }
}
