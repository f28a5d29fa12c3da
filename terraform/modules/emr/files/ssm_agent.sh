#!/usr/bin/env bash
# Run Session Manager's agent, where the node's image does not do so already. It comes from AWS's
# bucket of the region, which the S3 gateway endpoint reaches.
#   usage: ssm_agent.sh REGION
set -euo pipefail

region=$1

if ! systemctl is-active --quiet amazon-ssm-agent; then
    case $(uname -m) in
    aarch64) platform=linux_arm64 ;;
    *) platform=linux_amd64 ;;
    esac
    bucket=https://s3.$region.amazonaws.com/amazon-ssm-$region
    sudo yum install --assumeyes "$bucket/latest/$platform/amazon-ssm-agent.rpm"
    sudo systemctl enable --now amazon-ssm-agent
fi
