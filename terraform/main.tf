module "emr" {
  source = "./modules/emr"

  name = var.name

  subnet_id         = var.subnet_id
  vpc_cidr          = var.vpc_cidr
  availability_zone = var.availability_zone
  ssm_endpoints     = var.ssm_endpoints

  release_label         = var.release_label
  primary_instance_type = var.primary_instance_type
  core_instance_type    = var.core_instance_type
  core_instance_count   = var.core_instance_count
  core_spot_bid_usd     = var.core_spot_bid_usd
  ebs_gb                = var.ebs_gb
  spark_properties      = var.spark_properties
  idle_timeout_s        = var.idle_timeout_s
  connect_port          = var.connect_port
  connect_idle_s        = var.connect_idle_s
  spark_connect_jar     = var.spark_connect_jar
  certificates_zip      = var.certificates_zip

  bucket_name   = var.bucket_name
  force_destroy = var.force_destroy
  log_days      = var.log_days

  serverless          = var.serverless
  serverless_max_vcpu = var.serverless_max_vcpu

  budget_usd    = var.budget_usd
  budget_emails = var.budget_emails
}
