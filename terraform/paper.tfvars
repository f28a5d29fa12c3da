# The cluster of "Both Ends Count!" (arXiv 2602.21480), which --machine knows as paper-emr.
primary_instance_type = "r5b.xlarge"
core_instance_type    = "r5b.xlarge"
core_instance_count   = 32
ebs_gb                = 128
budget_usd            = 500
