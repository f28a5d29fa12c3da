# Of the whole account: a filter on tags sees nothing until the tags are activated in the billing
# console, and an alarm that never rings is worse than one that rings early.

resource "aws_budgets_budget" "this" {
  count        = length(var.budget_emails) > 0 ? 1 : 0
  name         = var.name
  budget_type  = "COST"
  time_unit    = "MONTHLY"
  limit_amount = tostring(var.budget_usd)
  limit_unit   = "USD"
  tags         = local.tags

  notification {
    notification_type          = "ACTUAL"
    comparison_operator        = "GREATER_THAN"
    threshold                  = 80
    threshold_type             = "PERCENTAGE"
    subscriber_email_addresses = var.budget_emails
  }

  notification {
    notification_type          = "FORECASTED"
    comparison_operator        = "GREATER_THAN"
    threshold                  = 100
    threshold_type             = "PERCENTAGE"
    subscriber_email_addresses = var.budget_emails
  }
}
