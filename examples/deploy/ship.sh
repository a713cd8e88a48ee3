#!/bin/sh
# ship.sh HOST VERSION TOKEN: puts a version on a host. This one only says so.
echo "$1: version $2 (token $3)"
