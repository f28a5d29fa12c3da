# What an hour costs, from the same list and by the same rule as --machine (infra/cluster_cost.py).

locals {
  price_file = "${path.module}/../infra/machines.yaml"
  prices     = fileexists(local.price_file) ? yamldecode(file(local.price_file)) : null

  nodes = [
    { type = var.primary_instance_type, count = 1, bid = null },
    { type = var.core_instance_type, count = var.core_instance_count, bid = var.core_spot_bid_usd },
  ]

  # Null where a type has no price here: an unknown price is not 0.
  usd_per_hour = try(tonumber(format("%.6f", sum([
    for each in local.nodes : each.count * (
      (each.bid == null ? local.prices.ec2.usd_per_hour[each.type] : each.bid)
      + lookup(local.prices.emr.usd_per_hour, each.type, local.prices.emr.share_of_ec2 * local.prices.ec2.usd_per_hour[each.type])
      + var.ebs_gb * local.prices.ebs.usd_per_gb_month / 720 # a month of 30 days
    )
  ]))), null)
}
