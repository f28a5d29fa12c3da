#!/usr/bin/env bash
# Make a self-signed certificate for the nodes of a region, as EMR takes it (certificates_zip).
#   usage: ./certificates.sh REGION OUT.zip
set -euo pipefail

region=$1
out=$(realpath --canonicalize-missing "$2")
case $region in
us-east-1) domain=ec2.internal ;;
*) domain=$region.compute.internal ;;
esac

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
openssl req -x509 -newkey rsa:2048 -sha256 -nodes -days 365 -subj "/CN=*.$domain" \
    -addext "subjectAltName=DNS:*.$domain" -keyout privateKey.pem -out certificateChain.pem \
    2>/dev/null
cp certificateChain.pem trustedCertificates.pem
(umask 077 && python3 -m zipfile -c "$out" privateKey.pem certificateChain.pem trustedCertificates.pem)
