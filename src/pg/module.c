/*
 * module.c
 *	  Loads the extension: defines its settings and installs its hooks.
 *
 * Loading starts no thread and touches no device or file, because the postmaster may load the
 * library before it forks.
 */
#include "pg/exec/exec.h"
#include "pg/base/cleanup.h"
#include "pg/node/node.h"
#include "pg/plan/plan.h"
#include "pg/worker/worker.h"

RB_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	rb_settings_check();
	rb_settings_define();
	rb_scan_install();
	rb_join_install();
	rb_replace_install();
	rb_report_install();
	rb_cleanup_install();
	rb_service_install();
	rb_serial_install();
}
