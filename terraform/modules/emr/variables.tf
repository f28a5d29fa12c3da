variable "name" {
  description = "What the names of all resources begin with."
  type        = string
  default     = "bothends"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,22}[a-z0-9]$", var.name))
    error_message = "name has 3 to 24 lower-case letters, digits and hyphens, and begins with a letter."
  }
}

variable "tags" {
  description = "Tags of all resources, beside those of the provider's default_tags."
  type        = map(string)
  default     = {}
}

# The network

variable "subnet_id" {
  description = "A private subnet of yours; null makes a VPC with one. Yours needs a route to S3 and KMS, and the tag for-use-with-amazon-emr-managed-policies = true."
  type        = string
  default     = null

  validation {
    condition     = var.subnet_id == null || can(regex("^subnet-[0-9a-f]+$", var.subnet_id))
    error_message = "subnet_id is a subnet's id, such as subnet-0a1b2c3d, or null for a VPC of our own."
  }
}

variable "vpc_cidr" {
  description = "The addresses of the VPC that is made; the subnet has all of them."
  type        = string
  default     = "10.42.0.0/22"

  validation {
    condition     = can(cidrhost(var.vpc_cidr, 0)) && try(tonumber(split("/", var.vpc_cidr)[1]), 0) >= 16 && try(tonumber(split("/", var.vpc_cidr)[1]), 99) <= 26
    error_message = "vpc_cidr is an IPv4 range between /16 and /26, such as 10.42.0.0/22."
  }
}

variable "availability_zone" {
  description = "Where the subnet is made; null leaves it to AWS. Not every zone has every type."
  type        = string
  default     = null
}

variable "ssm_endpoints" {
  description = "Whether the VPC that is made has endpoints for Session Manager, the only way to the cluster from outside."
  type        = bool
  default     = true
}

# The cluster

variable "release_label" {
  description = "The EMR release. Those with Spark 4 bring Spark Connect along; older ones need spark_connect_jar."
  type        = string
  default     = "emr-spark-8.0.0"

  validation {
    condition     = can(regex("^emr-(spark-[89]|[67])\\.[0-9]+\\.[0-9]+$", var.release_label))
    error_message = "release_label is a release of EMR 6 or 7, such as emr-7.13.0, or with Spark 4, such as emr-spark-8.0.0."
  }
}

variable "primary_instance_type" {
  description = "The EC2 type of the primary node."
  type        = string
  default     = "m5.xlarge"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.[0-9a-z]+$", var.primary_instance_type))
    error_message = "primary_instance_type is an EC2 type, such as m5.xlarge."
  }
}

variable "core_instance_type" {
  description = "The EC2 type of the core nodes."
  type        = string
  default     = "m5.xlarge"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.[0-9a-z]+$", var.core_instance_type))
    error_message = "core_instance_type is an EC2 type, such as m5.xlarge."
  }
}

variable "core_instance_count" {
  description = "How many core nodes; it can be changed while the cluster runs."
  type        = number
  default     = 2

  validation {
    condition     = var.core_instance_count >= 1 && var.core_instance_count <= 200 && floor(var.core_instance_count) == var.core_instance_count
    error_message = "core_instance_count is a whole number from 1 to 200."
  }
}

variable "core_spot_bid_usd" {
  description = "The most that an hour of a core node may cost on EC2, as a spot node; null takes them on demand."
  type        = number
  default     = null

  validation {
    condition     = var.core_spot_bid_usd == null || try(var.core_spot_bid_usd > 0 && var.core_spot_bid_usd < 100, false)
    error_message = "core_spot_bid_usd is in dollars per hour and node, more than 0 and less than 100, or null for on demand."
  }
}

variable "ebs_gb" {
  description = "Gigabytes of gp3 disk of each node."
  type        = number
  default     = 64

  validation {
    condition     = var.ebs_gb >= 10 && var.ebs_gb <= 16384 && floor(var.ebs_gb) == var.ebs_gb
    error_message = "ebs_gb is a whole number of gigabytes from 10 to 16384."
  }
}

variable "spark_properties" {
  description = "Properties of spark-defaults.conf; they go before those that the module sets."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for name in keys(var.spark_properties) : startswith(name, "spark.")])
    error_message = "the names in spark_properties begin with \"spark.\"."
  }
}

variable "idle_timeout_s" {
  description = "Seconds without work after which the cluster ends by itself."
  type        = number
  default     = 3600

  validation {
    condition     = var.idle_timeout_s >= 60 && var.idle_timeout_s <= 604800 && floor(var.idle_timeout_s) == var.idle_timeout_s
    error_message = "idle_timeout_s is a whole number of seconds from 60 to 604800, a week."
  }
}

variable "connect_port" {
  description = "The port of the Spark Connect server, on the primary node's loopback."
  type        = number
  default     = 15002

  validation {
    condition     = var.connect_port >= 1024 && var.connect_port <= 65535 && floor(var.connect_port) == var.connect_port
    error_message = "connect_port is a port from 1024 to 65535."
  }
}

variable "connect_idle_s" {
  description = "Seconds without a client after which the Spark Connect server ends; until then YARN counts it as work, and idle_timeout_s does not begin."
  type        = number
  default     = 1800

  validation {
    condition     = var.connect_idle_s >= 60 && var.connect_idle_s <= 604800 && floor(var.connect_idle_s) == var.connect_idle_s
    error_message = "connect_idle_s is a whole number of seconds from 60 to 604800, a week."
  }
}

variable "spark_connect_jar" {
  description = "The Spark Connect server's jar, for releases that do not bring it along: an s3:// address or a Maven coordinate (which needs a way to the internet)."
  type        = string
  default     = null

  validation {
    condition     = var.spark_connect_jar == null || can(regex("^(s3://[^ ]+\\.jar|[^: /]+:[^: /]+:[^: /]+)$", var.spark_connect_jar))
    error_message = "spark_connect_jar is s3://BUCKET/KEY.jar or GROUP:ARTIFACT:VERSION."
  }

  validation {
    condition     = var.spark_connect_jar != null || startswith(var.release_label, "emr-spark-")
    error_message = "a release before emr-spark-8.0.0 has no Spark Connect server: give spark_connect_jar, or take another release."
  }
}

variable "certificates_zip" {
  description = "A zip of PEM certificates (see certificates.sh), with which EMR encrypts all traffic between nodes; null leaves it to Spark's own encryption."
  type        = string
  default     = null

  validation {
    condition     = var.certificates_zip == null || try(fileexists(var.certificates_zip), false)
    error_message = "certificates_zip names no file; certificates.sh makes one."
  }
}

# Storage

variable "bucket_name" {
  description = "The bucket that is made; null names it by name, account and region."
  type        = string
  default     = null

  validation {
    condition     = var.bucket_name == null || can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.bucket_name))
    error_message = "bucket_name has 3 to 63 lower-case letters, digits and hyphens."
  }
}

variable "force_destroy" {
  description = "Whether destroying also deletes what is in the bucket; otherwise it fails while the bucket holds something."
  type        = bool
  default     = false
}

variable "log_days" {
  description = "Days after which logs are deleted."
  type        = number
  default     = 30

  validation {
    condition     = var.log_days >= 1 && floor(var.log_days) == var.log_days
    error_message = "log_days is a whole number, 1 or more."
  }
}

# EMR Serverless

variable "serverless" {
  description = "Whether there is an EMR Serverless application as well, which costs nothing while no job runs."
  type        = bool
  default     = false
}

variable "serverless_max_vcpu" {
  description = "The most vCPUs that jobs of the EMR Serverless application may use together."
  type        = number
  default     = 16

  validation {
    condition     = var.serverless_max_vcpu >= 4 && var.serverless_max_vcpu <= 4000 && floor(var.serverless_max_vcpu) == var.serverless_max_vcpu
    error_message = "serverless_max_vcpu is a whole number from 4 to 4000."
  }
}

# The budget

variable "budget_usd" {
  description = "Dollars in a month after which the account's budget alarms."
  type        = number
  default     = 100

  validation {
    condition     = var.budget_usd > 0
    error_message = "budget_usd is more than 0."
  }
}

variable "budget_emails" {
  description = "Who is told by the budget; where this is empty there is none."
  type        = list(string)
  default     = []

  validation {
    condition     = length(var.budget_emails) <= 10 && alltrue([for each in var.budget_emails : can(regex("^[^@ ]+@[^@ ]+\\.[^@ ]+$", each))])
    error_message = "budget_emails holds at most 10 addresses, such as someone@example.org."
  }
}
