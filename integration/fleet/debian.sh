# debian.sh FOLDER SUITE PACKAGE: unpacks a package of a Debian suite into the folder, with all that it depends on.
# Nothing is installed. Where Debian is, the machine's own sources say.
set -eu
folder=$1 suite=$2 package=$3
. /etc/os-release
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | awk -v suite="$VERSION_CODENAME" '
	/^URIs:/ { uri = $2 } /^Suites:/ && $2 == suite { print uri; exit }
	/^deb / { for (i = 2; i < NF; i++) if ($(i + 1) == suite) { print $i; exit } }')
mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial"
: >"$folder/apt/status" # as if nothing were installed
echo "deb [trusted=yes] $mirror $suite main" >"$folder/apt/sources"
set -- -qq -o Dir::Etc::sourcelist="$folder/apt/sources" -o Dir::Etc::sourceparts=/dev/null \
	-o Dir::Etc::preferencesparts=/dev/null -o Dir::State::lists="$folder/apt/lists" \
	-o Dir::State::status="$folder/apt/status" -o Dir::Cache="$folder/apt" -o APT::Sandbox::User=root
apt-get "$@" update
apt-get "$@" --download-only --no-install-recommends -y install "$package"
for file in "$folder"/apt/archives/*.deb; do dpkg -x "$file" "$folder"; done
