#!/usr/bin/env bash
# Start the Spark Connect server on the primary node, and end it when nobody has used it for a
# while: YARN counts it as work, so that with it the cluster would never be idle, and never end.
#   usage: connect_server.sh PORT IDLE_S [JAR]
set -euo pipefail

port=$1 idle_s=$2 jar=${3:-}
spark=${SPARK_HOME:-/usr/lib/spark}
look_s=${LOOK_S:-30} # how often to look for clients

case $jar in
'') with_jar=() ;;
s3://*) with_jar=(--jars "$jar") ;;
*) with_jar=(--packages "$jar") ;;
esac

clients() { # how many connections there are
    ss --no-header --tcp --numeric state established "( sport = :$port )" | wc -l
}

listens() {
    ss --no-header --tcp --numeric --listening "( sport = :$port )" | grep -q .
}

watch() {
    local used=$SECONDS
    while sleep "$look_s"; do
        if [ "$(clients)" -gt 0 ]; then
            used=$SECONDS
        elif [ $((SECONDS - used)) -ge "$idle_s" ]; then
            "$spark/sbin/stop-connect-server.sh"
            return
        fi
    done
}

"$spark/sbin/start-connect-server.sh" --master yarn \
    --conf "spark.connect.grpc.binding.address=127.0.0.1" \
    --conf "spark.connect.grpc.binding.port=$port" "${with_jar[@]}"

# The step is done, well or not, when it is known whether the server serves.
for ((waited_s = 0; ; waited_s += 2)); do
    if listens; then
        break
    elif [ "$waited_s" -ge 300 ]; then
        printf 'no Spark Connect server on port %s after %s s\n' "$port" "$waited_s" >&2
        exit 1
    fi
    sleep 2
done

# It stays when the step is gone.
(trap '' HUP && watch) </dev/null >/dev/null 2>&1 &
