package main

const description = `Locks that are granted by a majority of independent Redis masters.

A lock is held as long as a majority of the masters says so. With five masters,
any two may die, hang or be cut off: the lock can still be taken, and there is
still at most one holder. See it without installing anything:

  redlock demo`

const appNotes = `
Topics:
  redlock help config        settings in a file
  redlock help exit-codes    what each exit code means
`

const runHelp = `
The command starts once the lock is held. The lock is renewed while the command runs, and released
when it has ended. If the lock cannot be renewed, the command is ended: it gets TERM when only the
grace is left, and KILL at the end of validity, before anybody else can get the lock. If the lock is
lost without warning, it gets TERM at once and KILL after the grace. One such case is
redlock unlock --force, which is noticed at the next renewal: until then, and during the grace,
somebody else may have the lock as well.

No lock stops a command whose machine sleeps or hangs. Pass REDLOCK_TOKEN to whatever the command
writes to, if that can refuse a token smaller than one it has seen.

Names stand in front of --, or behind a --name each. Where --name or REDLOCK_NAME names the lock, the
command may begin without --.`

const runNotes = `
Examples:
  Run a job on one machine at a time, and skip it if another machine runs it:
    redlock run --masters m1,m2,m3 nightly --no-wait -- ./report.sh

  The same with masters and password from the environment, waiting for a minute:
    export REDLOCK_MASTERS=rediss://m1,rediss://m2,rediss://m3
    export REDLOCK_PASSWORD_FILE=/run/secrets/redis
    redlock run nightly --wait 1m -- ./report.sh

  A line of shell:
    redlock run -c './report.sh | mail -s report ops' nightly

  Lock several names together, in whatever order others name them:
    redlock run account:3 account:7 -- ./transfer.sh

  Give it time to clean up when the hold is lost:
    redlock run nightly --lease 1m --grace 20s -- ./report.sh

  Read what others read as well, and nobody writes meanwhile:
    redlock run index --shared -- ./search.sh

  Run at most 4 at the same time in the whole fleet:
    redlock run --permits 4 -c './train.sh --device "$REDLOCK_SLOT"' gpu

Environment:
  Every flag with a $NAME after it can be set there; the flag wins.
  The command inherits the environment, passwords included, with these set:
    REDLOCK_NAME     the lock's name; of several, one on each line, in order
    REDLOCK_TOKEN    the fencing token: larger than that of every earlier
                     holder; of several names, the token of each on its line
    REDLOCK_SLOT     with --permits K: which permit it is, from 0 to K-1; the
                     token is that of the slot
    REDLOCK_MASTERS  the masters that grant the lock, so that a script can call
                     redlock inspect "$REDLOCK_NAME"
    and those of --config, --username, --password-file and --tls-*, if given.

Signals:
  INT, TERM, HUP and QUIT go to all processes of the command, USR1, USR2 and
  WINCH to the command itself. While redlock waits for the lock, the first four
  end the wait and leave nothing behind.
  On a terminal, Ctrl-C, Ctrl-\ and Ctrl-Z reach the command directly; to end a
  run from elsewhere, send redlock TERM. A job that is stopped for longer than
  its hold lasts is ended when it continues.
  If redlock itself is killed, so is the command (on Linux and Windows). What
  the command has started is killed with it on Windows alone: on Linux, the
  programs of a -c SCRIPT may go on without the lock.
`

// configTopic is the text of redlock help config.
const configTopic = `Settings can be in a file that --config or REDLOCK_CONFIG names (TOML):

  masters = ["rediss://m1:6379", "rediss://m2:6379", "rediss://m3:6379"]
  username = "locks"                    # for masters whose URL has no user
  password_file = "password"            # or password = "…"
  tls_ca = "ca.pem"
  tls_cert = "client.pem"
  tls_key = "client.key"
  tls_server_name = "redis.example.com"
  node_timeout = "200ms"
  max_lease = "30s"
  restart_guard = "30s"                 # or "off"
  name = "nightly"                      # or ["account:3", "account:7"]
  lease = "30s"
  wait = "1m"
  grace = "5s"
  client_name = "reports"               # what others see as the holder
  verbose = false

  password = "…" takes the place of password_file

Each key is a flag of that name, and is used by the commands that have the flag.
Flags win over the environment, and that over the file. Paths are relative to
the file. A key that redlock does not know is an error.
`

// coprocess is how a shell script uses redlock hold.
const coprocess = `
  coproc LOCK { redlock hold nightly; }
  pid=$LOCK_PID
  if read -r token <&"${LOCK[0]}"; then   # held from here
    ./report.sh
    exec {LOCK[1]}>&-                     # to here
  fi
  wait "$pid"   # 0; or 75, 69, …: not locked; or 76: lost before the end
`

const holdHelp = `
Once the lock is held, the token is printed. The lock is renewed and held until stdin is closed or a
signal comes, and then released. If the hold is lost before that, redlock says so and exits with 76 at
once. Nothing stops the caller's work then: use redlock run where that matters.

In bash, use it as a coprocess. If the shell dies, the pipe to redlock is closed, and the lock is
released:
` + coprocess + `
If stdin is the null device, as under cron, in services and for background jobs of a script, only a
signal ends the hold.`

const holdNotes = `
Output, written at once:
  TOKEN        one name: its fencing token, larger than that of every earlier
               holder
  TOKEN NAME   several names: a line for each, in the order of their bytes
  TOKEN SLOT   with --permits K: which permit it is, from 0 to K-1
  With --json, one object on one line, to which fields may be added:
  {"held":[{"name":"nightly","token":1795280779002886,"owner":"…"}]}
`

const inspectNotes = `
Columns:
  HOLDER   who holds the lock on that master: the beginning of its client's id,
           and a number; or how many readers
  COUNT    the hold count: how many times its holder has entered
  LEFT     time until that master drops the lock, unless it is renewed
  TOKEN    the fencing counter on that master
  HELD     with --permits: how many permits are held on that master; the slots
           that a majority agrees on are listed below
  WAITING  with --permits: how many wait there
Below are the masters that do not answer or grant nothing, and why; who holds
the lock, by the name that it goes by; the readers, if they have it; and who
waits, and for what: the first one first.
`

const unlockNotes = `
A holder that is still working is not asked. It learns of its loss at its next
renewal, after a third of its lease at the latest. Until then, it and the next
holder work at the same time.
`

const doctorHelp = `
Every master is asked how it is set up and how it does, and a random name is locked there in every way
that clients lock a name. Nothing else is changed, and no trace of that name is left. It takes two
seconds or so, and 20 at most.`

const doctorNotes = `
What each finding means, and what to do, is in docs/doctor.md.
`

const demoHelp = `
Five masters run inside this process, and two clients compete for one lock. While it is held, two
masters are killed, then a third, which comes back just in time. Then the second client gets the lock.
It takes about ten seconds. With --html, a web page shows it all to scale: who held and waited when, until
when each hold was valid, and when each master was dead.`

const uiHelp = `
The page is served on the loopback of this machine alone, at the address that is printed. It shows how
the masters are, which names are held, by whom and since when, who waits, and who uses the masters; it
looks again every second, while somebody looks at it. It keeps no record on the masters and takes no
lock. Only if somebody asks for it there, doctor examines the masters, which locks a random name.`

const completionHelp = `
To use it, put this where your shell starts:

  bash  source <(redlock completion bash)
  zsh   source <(redlock completion zsh)
  fish  redlock completion fish | source

Names of locks are completed, too, if REDLOCK_MASTERS or REDLOCK_CONFIG says where the masters are.
`
