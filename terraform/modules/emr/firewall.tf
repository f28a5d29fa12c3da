# EMR adds the rules that let nodes speak to each other; those that it expects to find, and those
# for the endpoints, are here. No rule lets in anything from outside these groups.

resource "aws_security_group" "primary" {
  #checkov:skip=CKV2_AWS_5: EMR attaches it to the primary node
  name_prefix            = "${var.name}-primary-"
  description            = "EMR primary node of ${var.name}"
  vpc_id                 = local.vpc_id
  revoke_rules_on_delete = true # EMR's own rules would keep the groups from being deleted
  tags                   = merge(local.tags, { Name = "${var.name}-primary" })

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_security_group" "core" {
  #checkov:skip=CKV2_AWS_5: EMR attaches it to the core nodes
  name_prefix            = "${var.name}-core-"
  description            = "EMR core nodes of ${var.name}"
  vpc_id                 = local.vpc_id
  revoke_rules_on_delete = true
  tags                   = merge(local.tags, { Name = "${var.name}-core" })

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_security_group" "service" {
  #checkov:skip=CKV2_AWS_5: EMR attaches it to its own interface in the subnet
  name_prefix            = "${var.name}-service-"
  description            = "How the EMR service reaches the nodes of ${var.name}"
  vpc_id                 = local.vpc_id
  revoke_rules_on_delete = true
  tags                   = merge(local.tags, { Name = "${var.name}-service" })

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_security_group" "endpoints" {
  count                  = local.makes_vpc ? 1 : 0
  name_prefix            = "${var.name}-endpoints-"
  description            = "Interface endpoints of ${var.name}"
  vpc_id                 = local.vpc_id
  revoke_rules_on_delete = true
  tags                   = merge(local.tags, { Name = "${var.name}-endpoints" })

  lifecycle {
    create_before_destroy = true
  }
}

locals {
  node_groups = {
    primary = aws_security_group.primary.id
    core    = aws_security_group.core.id
  }
}

resource "aws_vpc_security_group_ingress_rule" "service" {
  security_group_id            = aws_security_group.service.id
  referenced_security_group_id = aws_security_group.primary.id
  description                  = "Primary node to the EMR service"
  ip_protocol                  = "tcp"
  from_port                    = 9443
  to_port                      = 9443
}

resource "aws_vpc_security_group_egress_rule" "service" {
  for_each                     = local.node_groups
  security_group_id            = aws_security_group.service.id
  referenced_security_group_id = each.value
  description                  = "EMR service to the ${each.key} nodes"
  ip_protocol                  = "tcp"
  from_port                    = 8443
  to_port                      = 8443
}

resource "aws_vpc_security_group_ingress_rule" "from_service" {
  for_each                     = local.node_groups
  security_group_id            = each.value
  referenced_security_group_id = aws_security_group.service.id
  description                  = "EMR service to the ${each.key} nodes"
  ip_protocol                  = "tcp"
  from_port                    = 8443
  to_port                      = 8443
}

resource "aws_vpc_security_group_egress_rule" "to_service" {
  security_group_id            = aws_security_group.primary.id
  referenced_security_group_id = aws_security_group.service.id
  description                  = "Primary node to the EMR service"
  ip_protocol                  = "tcp"
  from_port                    = 9443
  to_port                      = 9443
}

resource "aws_vpc_security_group_egress_rule" "between_nodes" {
  for_each                     = { for pair in setproduct(keys(local.node_groups), keys(local.node_groups)) : "${pair[0]}-${pair[1]}" => pair }
  security_group_id            = local.node_groups[each.value[0]]
  referenced_security_group_id = local.node_groups[each.value[1]]
  description                  = "Nodes to each other (${each.key})"
  ip_protocol                  = "-1"
}

# S3 and AWS's APIs have no group or fixed address. The subnet's routes decide how far this goes:
# in the VPC that is made, to its endpoints and no further.
resource "aws_vpc_security_group_egress_rule" "https" {
  for_each          = local.node_groups
  security_group_id = each.value
  description       = "HTTPS as far as the subnet's routes lead"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

resource "aws_vpc_security_group_ingress_rule" "endpoints" {
  for_each                     = local.makes_vpc ? local.node_groups : {}
  security_group_id            = one(aws_security_group.endpoints).id
  referenced_security_group_id = each.value
  description                  = "HTTPS from the ${each.key} nodes"
  ip_protocol                  = "tcp"
  from_port                    = 443
  to_port                      = 443
}
