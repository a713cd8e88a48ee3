#!/bin/sh
# Writes what it ships to LOG, and takes long enough for another deployment to get in between.
sleep 0.05
echo "$1" "$2" "$3" >>"$LOG"
