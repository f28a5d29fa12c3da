# Copy it, change it, and give it with -var-file. What is left out has its default.
owner   = "someone@example.org"
expires = "2027-01-31"
region  = "us-east-1"

core_instance_type  = "m5.2xlarge"
core_instance_count = 4
ebs_gb              = 128
core_spot_bid_usd   = 0.2 # the most that a spot node may cost; without it, on demand

budget_usd    = 200
budget_emails = ["someone@example.org"]

spark_properties = {
  "spark.sql.shuffle.partitions" = "256"
}
