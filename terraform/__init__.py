"""The EMR cluster as HCL, which `bothends cluster emr` hands to Terraform as it is."""
