# Creates a private PostgreSQL server with the redblue of this tree, for the tests and the demo.
#
# Source this file in the top directory of the tree.  It sets
#
#	pg_config	the pg_config of the selected server (test/server)
#	work		a directory below TMPDIR that is removed when the script ends
#
# and defines
#
#	private_install		copies that server (links, except for the programs) and installs redblue in the
#						copy; writes nothing to the real server and does not need root.
#						REDBLUE_LIBRARY is a file to be installed instead of redblue.so
#	server_start		starts a new cluster on a Unix socket, without TCP; exports PGHOST, PGPORT, ...
#	as_server CMD...	runs CMD as a user that PostgreSQL accepts (not as root)
#	server_user			the words of the command that switches to this user
#
# The server is stopped and $work is removed however the script ends.

pg_config=$(test/server) || { echo "no PostgreSQL is installed (test/server)" >&2; exit 1; }
# The commands below must neither reach another server nor take settings from one.
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

# PostgreSQL refuses to run as root.
if [ "$(id -u)" -eq 0 ]; then
	server_user=(setpriv --reuid postgres --regid postgres --clear-groups env)
else
	server_user=(env)
fi

as_server()
{
	(exec "${server_user[@]}" -C "$work" HOME="$work" "$@")
}

# Creates a directory that the server's user can write to.
server_dir()
{
	mkdir -p "$1" && { [ "$(id -u)" -ne 0 ] || chown postgres "$1"; }
}

# PostgreSQL finds its files relative to its programs.  Therefore a tree of links with copied
# programs is a server of its own.  PostgreSQL's own "make check" uses the same technique.
private_install()
{
	local root=$work/root dir
	make -s install DESTDIR="$root" PG_CONFIG="$pg_config" >"$work/install.log" 2>&1 || { cat "$work/install.log"; return 1; }
	[ -z "${REDBLUE_LIBRARY:-}" ] || install -m 755 "$REDBLUE_LIBRARY" "$root$($pg_config --pkglibdir)/redblue.so" || return 1
	for dir in "$($pg_config --pkglibdir)" "$($pg_config --sharedir)"; do
		mkdir -p "$root$dir"
		cp -rsn "$dir/." "$root$dir/" || return 1
		# Hide an older redblue that is installed in the real server.
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
		jit = off
		max_wal_size = 4GB
		shared_buffers = 256MB
		${1:-}
	CONF
	server_data=$data
	export PGHOST=$work/server PGPORT=54329 PGUSER=postgres PGDATABASE=postgres
	as_server "$bindir/pg_ctl" -D "$data" -l "$work/server/log" -o "-p $PGPORT" -w start >"$work/start.log" 2>&1 ||
		{ cat "$work/start.log" "$work/server/log"; return 1; }
}
