#!/bin/sh
# secrets.sh DIR [HOST…]: draw passwords, and make what masters and clients need, in a new folder. In a folder
# that it has made, it renews the certificate alone, for the same key, and the same hosts unless others are given.
#
#   password            of the user locks, for clients
#   operator-password   of the user operator, who may do everything; keep it to yourself
#   users.acl           for masters: users.acl of this folder with those passwords, as hashes
#   tls/ca.crt, ca.key  an issuer of certificates; keep the key to yourself
#   tls/server.crt, .key  for masters: good for a year, for each HOST, localhost and 127.0.0.1
set -eu
umask 077
from=$(dirname "$0")
to=${1:?usage: secrets.sh DIR [HOST…]}
shift
[ -e "$to/tls/ca.key" ] || mkdir "$to" "$to/tls"
draw() { openssl rand -hex 32 | tr -d '\n' >"$to/$1"; }
hash() { openssl dgst -sha256 -r <"$to/$1" | cut -d ' ' -f 1; }
if [ ! -e "$to/tls/ca.key" ]; then
	draw password
	draw operator-password
	sed "s/>password/#$(hash password)/; s/>operator-password/#$(hash operator-password)/" "$from/users.acl" >"$to/users.acl"
	openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj '/CN=issuer for locks' -keyout "$to/tls/ca.key" -out "$to/tls/ca.crt" 2>/dev/null
	openssl genrsa -out "$to/tls/server.key" 2048 2>/dev/null
fi

names=DNS:localhost,IP:127.0.0.1
for host in "$@"; do
	case $host in
	*:*) names="$names,IP:$host" ;;
	*[!0-9.]*) names="$names,DNS:$host" ;;
	*) names="$names,IP:$host" ;;
	esac
done
cd "$to/tls"
if [ $# = 0 ] && [ -e server.crt ]; then
	names=$(openssl x509 -in server.crt -noout -ext subjectAltName | sed '1d; s/IP Address:/IP:/g; s/ //g')
fi
openssl req -new -key server.key -subj '/CN=a master for locks' -out server.csr
printf 'subjectAltName=%s\n' "$names" >extensions
openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 -extfile extensions -out server.crt 2>/dev/null
rm server.csr extensions ca.srl

chmod 755 . ..
chmod 644 ca.crt server.crt
# The server in a container is of the group 999. Only root can give it what nobody else may read.
for file in ../users.acl server.key; do
	if chgrp 999 "$file" 2>/dev/null; then
		chmod 640 "$file"
	else
		echo "secrets.sh: before a container uses it, as root: chgrp 999 $file; chmod 640 $file (in $PWD)" >&2
	fi
done
