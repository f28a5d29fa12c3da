# Credentials come from the environment or a profile, as for any AWS tool; so does an endpoint
# other than AWS's (AWS_ENDPOINT_URL).
provider "aws" {
  region = var.region

  default_tags {
    tags = {
      Project   = "bothends"
      ManagedBy = "terraform"
      Owner     = var.owner
      Expires   = var.expires
    }
  }
}
