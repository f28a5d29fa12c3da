variable "region" {
  description = "Where all of it is made."
  type        = string
  default     = "us-east-1"

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "region is an AWS region, such as us-east-1."
  }
}

variable "owner" {
  description = "Who answers for it; a tag of every resource."
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z0-9 @._+=/:-]{1,256}$", var.owner))
    error_message = "owner is a name or an address in the characters that tags allow."
  }
}

variable "expires" {
  description = "The day after which it may be deleted, as YYYY-MM-DD; a tag of every resource."
  type        = string

  validation {
    condition     = can(formatdate("YYYY", "${var.expires}T00:00:00Z"))
    error_message = "expires is a day, such as 2027-01-31."
  }
}

# What follows is the module's, with its validations (modules/emr/variables.tf).

variable "name" {
  description = "What the names of all resources begin with."
  type        = string
  default     = "bothends"
}

variable "subnet_id" {
  description = "A private subnet of yours; null makes a VPC with one. Yours needs a route to S3 and KMS, and the tag for-use-with-amazon-emr-managed-policies = true."
  type        = string
  default     = null
}

variable "vpc_cidr" {
  description = "The addresses of the VPC that is made; the subnet has all of them."
  type        = string
  default     = "10.42.0.0/22"
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

variable "release_label" {
  description = "The EMR release. Those with Spark 4 bring Spark Connect along; older ones need spark_connect_jar."
  type        = string
  default     = "emr-spark-8.0.0"
}

variable "primary_instance_type" {
  description = "The EC2 type of the primary node."
  type        = string
  default     = "m5.xlarge"
}

variable "core_instance_type" {
  description = "The EC2 type of the core nodes."
  type        = string
  default     = "m5.xlarge"
}

variable "core_instance_count" {
  description = "How many core nodes; it can be changed while the cluster runs."
  type        = number
  default     = 2
}

variable "core_spot_bid_usd" {
  description = "The most that an hour of a core node may cost on EC2, as a spot node; null takes them on demand."
  type        = number
  default     = null
}

variable "ebs_gb" {
  description = "Gigabytes of gp3 disk of each node."
  type        = number
  default     = 64
}

variable "spark_properties" {
  description = "Properties of spark-defaults.conf; they go before those that the module sets."
  type        = map(string)
  default     = {}
}

variable "idle_timeout_s" {
  description = "Seconds without work after which the cluster ends by itself."
  type        = number
  default     = 3600
}

variable "connect_port" {
  description = "The port of the Spark Connect server, on the primary node's loopback."
  type        = number
  default     = 15002
}

variable "connect_idle_s" {
  description = "Seconds without a client after which the Spark Connect server ends; until then YARN counts it as work, and idle_timeout_s does not begin."
  type        = number
  default     = 1800
}

variable "spark_connect_jar" {
  description = "The Spark Connect server's jar, for releases that do not bring it along: an s3:// address or a Maven coordinate (which needs a way to the internet)."
  type        = string
  default     = null
}

variable "certificates_zip" {
  description = "A zip of PEM certificates (see certificates.sh), with which EMR encrypts all traffic between nodes; null leaves it to Spark's own encryption."
  type        = string
  default     = null
}

variable "bucket_name" {
  description = "The bucket that is made; null names it by name, account and region."
  type        = string
  default     = null
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
}

variable "serverless" {
  description = "Whether there is an EMR Serverless application as well, which costs nothing while no job runs."
  type        = bool
  default     = false
}

variable "serverless_max_vcpu" {
  description = "The most vCPUs that jobs of the EMR Serverless application may use together."
  type        = number
  default     = 16
}

variable "budget_usd" {
  description = "Dollars in a month after which the account's budget alarms."
  type        = number
  default     = 100
}

variable "budget_emails" {
  description = "Who is told by the budget; where this is empty there is none."
  type        = list(string)
  default     = []
}
