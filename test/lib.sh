# A private PostgreSQL with this tree's redblue in it, for the tests and the demo.
#
# Source it from the top of the tree.  It sets
#
#	pg_config	the server that was picked (test/server)
#	work		a directory below TMPDIR, gone when the script ends
#
# and defines
#
#	private_install		a copy of that server (links, but for the programs) with redblue
#						added: nothing is written to the real one, no root is needed
#	server_start		a fresh cluster on a Unix socket, no TCP; exports PGHOST, PGPORT, ...
#	as_server CMD...	runs CMD as somebody whom PostgreSQL accepts: not as root
#	server_user			the command words that do so
#
# The server is stopped and $work removed however the script ends.

pg_config=$(test/server) || { echo "no PostgreSQL is installed (test/server)" >&2; exit 1; }
# what runs here must not reach, or be misled by, another server
unset PGHOST PGPORT PGUSER PGDATABASE PGSERVICE PGOPTIONS PGPASSWORD PGDATA PSQLRC
export LC_ALL=C

work=$(mktemp -d "${TMPDIR:-/tmp}/redblue.XXXXXX") || exit 1
chmod 755 "$work"
server_data=
trap 'cleanup' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

cleanup()
{
	if [ -n "$server_data" ] && [ -e "$server_data/postmaster.pid" ]; then
		as_server "$bindir/pg_ctl" -D "$server_data" -m immediate -w stop >/dev/null 2>&1
	fi
	cd / && rm -rf "$work"
}

# PostgreSQL refuses to be root
if [ "$(id -u)" -eq 0 ]; then
	server_user=(setpriv --reuid postgres --regid postgres --clear-groups env)
else
	server_user=(env)
fi

as_server()
{
	(exec "${server_user[@]}" -C "$work" HOME="$work" "$@")
}

# a directory that the server's user may write to
server_dir()
{
	mkdir -p "$1" && { [ "$(id -u)" -ne 0 ] || chown postgres "$1"; }
}

# PostgreSQL finds its files relative to its programs, so a tree of links with
# copied programs is a server of its own (its own "make check" does the same).
private_install()
{
	local root=$work/root dir
	make -s install DESTDIR="$root" PG_CONFIG="$pg_config" >"$work/install.log" 2>&1 || { cat "$work/install.log"; return 1; }
	for dir in "$($pg_config --pkglibdir)" "$($pg_config --sharedir)"; do
		mkdir -p "$root$dir"
		cp -rsn "$dir/." "$root$dir/" || return 1
		# an older redblue of the real server must not show through
		find "$root$dir" -lname '*redblue*' -delete
	done
	bindir=$root$($pg_config --bindir)
	mkdir -p "$bindir"
	cp -L "$($pg_config --bindir)"/* "$bindir/" || return 1
	export PATH=$bindir:$PATH
	pgxs=$(dirname "$("$pg_config" --pgxs)")/../..
}

server_start()
{
	server_dir "$work/server"
	local data=$work/server/data
	as_server "$bindir/initdb" -D "$data" -U postgres -A trust -E UTF8 --no-locale -N >"$work/initdb.log" 2>&1 ||
		{ cat "$work/initdb.log"; return 1; }
	cat >>"$data/postgresql.conf" <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$work/server'
		fsync = off
		full_page_writes = off
		max_wal_size = 4GB
		shared_buffers = 256MB
		${1:-}
	CONF
	server_data=$data
	export PGHOST=$work/server PGPORT=54329 PGUSER=postgres PGDATABASE=postgres
	as_server "$bindir/pg_ctl" -D "$data" -l "$work/server/log" -o "-p $PGPORT" -w start >"$work/start.log" 2>&1 ||
		{ cat "$work/start.log" "$work/server/log"; return 1; }
}
