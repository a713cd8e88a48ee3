#!/bin/sh
# secrets.sh [-p PREFIX] DIR [HOST…]: draw passwords, and make what masters and clients need, in a new folder. The user
# locks may use names that begin with PREFIX, or with orders: if none is given. In a folder that it has made, it
# renews the certificate alone, for the same key, and the same hosts unless others are given: the prefix stays.
#
#   password             of the user locks, for clients
#   operator-password    of the user operator, who may do everything; keep it to yourself
#   ca.crt, ca.key       an issuer of certificates: clients need the first; keep the key to yourself
#   masters              for masters, who need nothing else:
#     users.acl          users.acl of this folder with those passwords, as hashes
#     server.crt, .key   good for a year, for each HOST, localhost and 127.0.0.1
#     ca.crt             the same as above
#
# Nobody but you can read any of it, so masters run as you, or you give the folder masters to whom they run as.
set -eu
umask 077
usage() {
	echo 'usage: secrets.sh [-p PREFIX] DIR [HOST…]' >&2
	exit 64
}
from=$(dirname "$0")
given=
prefix=orders:
if [ "${1-}" = -p ]; then
	given=yes
	prefix=${2-}
	shift 2 || usage
fi
case $prefix in
'' | *[!A-Za-z0-9:._/-]*)
	echo 'secrets.sh: a prefix has letters, digits, and : . _ / - only' >&2
	usage
	;;
esac
to=${1-}
[ -n "$to" ] || usage
shift
if [ -e "$to/ca.key" ]; then
	if [ -n "$given" ] && ! grep -qF " ~$prefix* " "$to/masters/users.acl"; then
		echo "secrets.sh: users.acl in $to/masters is for another prefix: change it there, or draw a new folder" >&2
		exit 64
	fi
else
	mkdir "$to" "$to/masters"
fi
draw() { openssl rand -hex 32 | tr -d '\n' >"$to/$1"; }
hash() { openssl dgst -sha256 -r <"$to/$1" | cut -d ' ' -f 1; }
if [ ! -e "$to/ca.key" ]; then
	draw password
	draw operator-password
	sed "s|orders:|$prefix|g; s/>password/#$(hash password)/; s/>operator-password/#$(hash operator-password)/" "$from/users.acl" >"$to/masters/users.acl"
	openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj '/CN=issuer for locks' -keyout "$to/ca.key" -out "$to/ca.crt" 2>/dev/null
	cp "$to/ca.crt" "$to/masters"
	openssl genrsa -out "$to/masters/server.key" 2048 2>/dev/null
fi

names=DNS:localhost,IP:127.0.0.1
for host in "$@"; do
	case $host in
	*:*) names="$names,IP:$host" ;;
	*[!0-9.]*) names="$names,DNS:$host" ;;
	*) names="$names,IP:$host" ;;
	esac
done
cd "$to"
if [ $# = 0 ] && [ -e masters/server.crt ]; then
	names=$(openssl x509 -in masters/server.crt -noout -ext subjectAltName | sed '1d; s/IP Address:/IP:/g; s/ //g')
fi
openssl req -new -key masters/server.key -subj '/CN=a master for locks' -out server.csr
printf 'subjectAltName=%s\n' "$names" >extensions
openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 -extfile extensions -out masters/server.crt 2>/dev/null
rm server.csr extensions ca.srl
