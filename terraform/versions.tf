terraform {
  # 1.9 is the first in which a variable's validation sees the other variables.
  required_version = ">= 1.9, < 2.0"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.100"
    }
  }
}
