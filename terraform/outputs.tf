output "cluster_id" {
  description = "The cluster's id, such as j-1ABCDEFGHIJKL."
  value       = module.emr.cluster_id
}

output "primary_dns" {
  description = "The primary node's name, which only the VPC knows."
  value       = module.emr.primary_dns
}

output "region" {
  description = "Where all of it is."
  value       = module.emr.region
}

output "bucket" {
  description = "The bucket for data and results."
  value       = module.emr.bucket
}

output "log_uri" {
  description = "Where logs go."
  value       = module.emr.log_uri
}

output "kms_key_arn" {
  description = "The key of the bucket and the disks."
  value       = module.emr.kms_key_arn
}

output "connect_port" {
  description = "The Spark Connect server's port, on the primary node's loopback."
  value       = module.emr.connect_port
}

output "service_role_arn" {
  description = "The role of EMR itself."
  value       = module.emr.service_role_arn
}

output "node_role_arn" {
  description = "The role of the nodes, and with them of Spark."
  value       = module.emr.node_role_arn
}

output "serverless_application_id" {
  description = "The EMR Serverless application's id; null where there is none."
  value       = module.emr.serverless_application_id
}

output "serverless_role_arn" {
  description = "The role of the EMR Serverless application's jobs; null where there is none."
  value       = module.emr.serverless_role_arn
}

output "price" {
  description = "The cluster in the words of --machine. A spot node has its bid, the most that it can cost."
  value       = module.emr.price
}

output "usd_per_hour" {
  description = "What an hour of the nodes costs: EC2, EMR's fee and the gp3 disks, at us-east-1's list prices; null where a type has none there. Endpoints, the key and requests come on top."
  value       = local.usd_per_hour
}
