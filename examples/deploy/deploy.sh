#!/bin/sh
# deploy.sh VERSION HOST…: deploys to the hosts, one deployment at a time, whoever starts it.
#
# It needs the redlock command in the PATH, and REDLOCK_MASTERS. SHIP is what puts a version on a
# host. The exit code is 75 when another deployment did not end in time, 76 when the lock was lost.
set -eu

# Start over under the lock, unless this is that run.
if [ "${REDLOCK_NAME:-}" != deploy:shop ]; then
	exec redlock run --name deploy:shop --wait "${DEPLOY_WAIT:-10m}" -- "$0" "$@"
fi

version=$1
shift
for host in "$@"; do
	# A host that remembers the largest token refuses a deployment that was stopped and is late.
	"${SHIP:-./ship.sh}" "$host" "$version" "$REDLOCK_TOKEN"
done
