# Completion of redlock for fish. To use it: redlock completion fish | source
function __redlock
	set -l words (redlock completion fish --line=(commandline -cp | string collect) 2>/dev/null)
	switch "$words[1]"
		case \tfile
			set -l typed (string match -r '^(--[^=]*=|)(.*)$' -- (commandline -ct))
			printf "$typed[2]%s\n" (complete -C "'' $typed[3]")
		case \tcommand \targument
			set -l line (commandline -opc)
			complete -C (string join ' ' -- $line[(math 1 + (contains -i -- -- $line))..] (commandline -ct))
		case '*'
			printf '%s\n' $words
	end
end
complete -c redlock -f -a '(__redlock)'
