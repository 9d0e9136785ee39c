-- Tests the extension alone: without PostGIS, in any schema, with everything documented.
SET client_min_messages = warning;
DROP EXTENSION IF EXISTS redblue;
CREATE SCHEMA elsewhere;
CREATE EXTENSION redblue SCHEMA elsewhere;
RESET client_min_messages;
SELECT relocatable, requires FROM pg_available_extension_versions WHERE name = 'redblue' AND installed;
SELECT elsewhere.redblue_version() = extversion AS same_version FROM pg_extension WHERE extname = 'redblue';
ALTER EXTENSION redblue SET SCHEMA public;
DROP SCHEMA elsewhere;

-- Functions and their properties; the cost is what the planner uses without a support function.
SELECT p.proname AS function, p.pronargs AS args, p.prorettype::regtype AS result, p.provolatile AS v, p.proparallel AS p,
	p.proisstrict AS strict, p.prosecdef AS definer, p.prosupport AS support,
	obj_description(p.oid, 'pg_proc') <> '' AS described
FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'redblue')
ORDER BY p.proname, p.pronargs;

-- Only names that start with redblue_, types included; some servers also list their array types.
SELECT pg_describe_object(classid, objid, objsubid) AS object
FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'redblue')
	AND classid <> 'pg_proc'::regclass AND pg_describe_object(classid, objid, objsubid) NOT LIKE 'type %[]'
	AND pg_describe_object(classid, objid, objsubid) <> 'type redblue_progress' -- of the view
ORDER BY 1;

-- The settings, as pg_settings shows them
SELECT name, boot_val AS setting, unit, context, vartype, min_val, max_val, enumvals
FROM pg_settings WHERE name LIKE 'redblue.%' ORDER BY name;
SELECT count(*) FROM pg_settings WHERE name LIKE 'redblue.%' AND coalesce(short_desc, '') = '';

-- Information about the build
SELECT version = redblue_version() AS version, build LIKE 'PostgreSQL %' AS build, gmp ~ '^\d' AS gmp, openmp = 'not used' AS openmp,
	threads >= 1 AS threads, cuda IS NOT NULL AS cuda, cuda_device <> '' AS cuda_device
FROM redblue_info();

-- Empty before the first join of a session
\c -
SELECT * FROM redblue_last_run();
