# Completion of redlock for bash. To use it: source <(redlock completion bash)
_redlock() {
	local word typed=${COMP_WORDS[COMP_CWORD]} IFS=$'\n'
	COMPREPLY=()
	while IFS= read -r word; do
		COMPREPLY+=("$word")
	done < <(redlock completion bash --line="${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
	case ${COMPREPLY[0]} in
	$'\tfile' | $'\targument')
		[[ $typed == = ]] && typed= # bash makes three words of --flag=value
		COMPREPLY=($(compgen -f -- "$typed"))
		compopt -o filenames 2>/dev/null
		;;
	$'\tcommand') COMPREPLY=($(compgen -c -- "$typed")) ;;
	esac
}
complete -F _redlock redlock
