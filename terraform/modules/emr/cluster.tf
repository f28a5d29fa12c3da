locals {
  spark_defaults = merge(
    {
      # Spark's own encryption between its processes, with a secret that YARN hands out: it needs
      # no certificates. With certificates EMR encrypts the rest of what nodes say as well.
      "spark.authenticate"           = "true"
      "spark.network.crypto.enabled" = "true"
      "spark.io.encryption.enabled"  = "true"
      # A query that is stopped, or whose client is gone, ends on the nodes too.
      "spark.task.reaper.enabled"                         = "true"
      "spark.connect.execute.manager.detachedTimeout"     = "60s"
      "spark.connect.execute.manager.maintenanceInterval" = "15s"
    },
    var.spark_properties,
  )

  # YARN's nodes serve what Spark shuffled, and must speak as Spark does.
  shuffle_service = { for name in ["spark.authenticate", "spark.network.crypto.enabled"] : name => local.spark_defaults[name] }
}

resource "aws_emr_cluster" "this" {
  name          = var.name
  release_label = var.release_label
  applications  = ["Spark"]
  log_uri       = local.log_uri

  service_role           = aws_iam_role.service.arn
  security_configuration = aws_emr_security_configuration.this.name
  ebs_root_volume_size   = 15

  termination_protection            = false
  keep_job_flow_alive_when_no_steps = true

  auto_termination_policy {
    idle_timeout = var.idle_timeout_s
  }

  ec2_attributes {
    subnet_id                         = local.subnet_id
    instance_profile                  = aws_iam_instance_profile.nodes.arn
    emr_managed_master_security_group = aws_security_group.primary.id
    emr_managed_slave_security_group  = aws_security_group.core.id
    service_access_security_group     = aws_security_group.service.id
  }

  master_instance_group {
    name           = "primary"
    instance_type  = var.primary_instance_type
    instance_count = 1

    ebs_config {
      type                 = "gp3"
      size                 = var.ebs_gb
      volumes_per_instance = 1
    }
  }

  core_instance_group {
    name           = "core"
    instance_type  = var.core_instance_type
    instance_count = var.core_instance_count
    bid_price      = var.core_spot_bid_usd == null ? null : tostring(var.core_spot_bid_usd)

    ebs_config {
      type                 = "gp3"
      size                 = var.ebs_gb
      volumes_per_instance = 1
    }
  }

  configurations_json = jsonencode([
    { Classification = "spark", Properties = { maximizeResourceAllocation = "true" } },
    { Classification = "spark-defaults", Properties = local.spark_defaults },
    { Classification = "yarn-site", Properties = local.shuffle_service },
  ])

  bootstrap_action {
    name = "Session Manager's agent"
    path = "s3://${local.bucket}/${aws_s3_object.bootstrap["ssm_agent.sh"].key}"
    args = [local.region]
  }

  step {
    name              = "Spark Connect server"
    action_on_failure = "CONTINUE"

    # What is on the node already: the nodes' role may read no bucket but ours.
    hadoop_jar_step {
      jar = "command-runner.jar"
      args = compact([
        "bash", "-c", "aws s3 cp \"$0\" connect_server.sh && exec bash connect_server.sh \"$@\"",
        "s3://${local.bucket}/${aws_s3_object.bootstrap["connect_server.sh"].key}",
        tostring(var.connect_port), tostring(var.connect_idle_s), var.spark_connect_jar,
      ])
    }
  }

  tags = local.tags

  lifecycle {
    # Steps that are added later are work, not a reason to make the cluster anew.
    ignore_changes = [step]
  }

  # Nodes need all of these as soon as they start, and until they are gone.
  depends_on = [
    aws_iam_role_policy.nodes_bucket,
    aws_iam_role_policy.nodes_key,
    aws_iam_role_policy.service_key,
    aws_iam_role_policy.service_pass,
    aws_iam_role_policy_attachment.nodes_ssm,
    aws_iam_role_policy_attachment.service,
    aws_route_table_association.private,
    aws_s3_bucket_server_side_encryption_configuration.this,
    aws_vpc_endpoint.interface,
    aws_vpc_endpoint.s3,
    aws_vpc_security_group_egress_rule.between_nodes,
    aws_vpc_security_group_egress_rule.https,
    aws_vpc_security_group_egress_rule.service,
    aws_vpc_security_group_egress_rule.to_service,
    aws_vpc_security_group_ingress_rule.endpoints,
    aws_vpc_security_group_ingress_rule.from_service,
    aws_vpc_security_group_ingress_rule.service,
  ]
}
