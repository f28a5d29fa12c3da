# A VPC with one private subnet: no internet gateway, no NAT, no public addresses. S3 is reached
# by a gateway endpoint, which is free; KMS and Session Manager by interface endpoints.

locals {
  makes_vpc = var.subnet_id == null
  vpc_id    = local.makes_vpc ? one(aws_vpc.this).id : one(data.aws_subnet.given).vpc_id
  subnet_id = local.makes_vpc ? one(aws_subnet.private).id : var.subnet_id

  ssm_services       = var.ssm_endpoints ? ["ssm", "ssmmessages", "ec2messages"] : []
  endpoint_services  = toset(local.makes_vpc ? concat(["kms"], local.ssm_services) : [])
  interface_endpoint = "com.amazonaws.${local.region}"
}

data "aws_subnet" "given" {
  count = local.makes_vpc ? 0 : 1
  id    = var.subnet_id
}

resource "aws_vpc" "this" {
  #checkov:skip=CKV2_AWS_11: Flow logs cost more than they tell, where nothing leads in or out of the VPC
  count                = local.makes_vpc ? 1 : 0
  cidr_block           = var.vpc_cidr
  enable_dns_support   = true
  enable_dns_hostnames = true
  tags                 = merge(local.tags, { Name = var.name })
}

# Without rules here, the group that AWS makes with each VPC lets nothing through.
resource "aws_default_security_group" "closed" {
  count  = local.makes_vpc ? 1 : 0
  vpc_id = one(aws_vpc.this).id
  tags   = merge(var.tags, { Name = "${var.name}-default-unused" })
}

resource "aws_subnet" "private" {
  count                   = local.makes_vpc ? 1 : 0
  vpc_id                  = one(aws_vpc.this).id
  cidr_block              = var.vpc_cidr
  availability_zone       = var.availability_zone
  map_public_ip_on_launch = false
  tags                    = merge(local.tags, { Name = "${var.name}-private" })
}

resource "aws_route_table" "private" {
  count  = local.makes_vpc ? 1 : 0
  vpc_id = one(aws_vpc.this).id
  tags   = merge(local.tags, { Name = "${var.name}-private" })
}

resource "aws_route_table_association" "private" {
  count          = local.makes_vpc ? 1 : 0
  subnet_id      = one(aws_subnet.private).id
  route_table_id = one(aws_route_table.private).id
}

resource "aws_vpc_endpoint" "s3" {
  count             = local.makes_vpc ? 1 : 0
  vpc_id            = one(aws_vpc.this).id
  service_name      = "com.amazonaws.${local.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = [one(aws_route_table.private).id]
  tags              = merge(local.tags, { Name = "${var.name}-s3" })
}

resource "aws_vpc_endpoint" "interface" {
  for_each            = local.endpoint_services
  vpc_id              = one(aws_vpc.this).id
  service_name        = "${local.interface_endpoint}.${each.key}"
  vpc_endpoint_type   = "Interface"
  private_dns_enabled = true
  subnet_ids          = [one(aws_subnet.private).id]
  security_group_ids  = [one(aws_security_group.endpoints).id]
  tags                = merge(local.tags, { Name = "${var.name}-${each.key}" })
}
