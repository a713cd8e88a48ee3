#compdef redlock
# Completion of redlock for zsh. To use it: source <(redlock completion zsh)
_redlock() {
	local -a suggested=("${(@f)$(redlock completion zsh --line="${words[1,CURRENT-1]} $PREFIX" 2>/dev/null)}")
	local dashes=${words[(i)--]}
	case $suggested[1] in
	$'\tfile')
		compset -P '--*='
		_files
		;;
	$'\tcommand' | $'\targument')
		(( CURRENT -= dashes ))
		shift $dashes words
		_normal
		;;
	?*) _describe redlock suggested ;;
	esac
}
if [[ $funcstack[1] == _redlock ]]; then
	_redlock "$@"
else
	compdef _redlock redlock
fi
