/*
 * acl.h
 *	  Declares privilege checks and locks (acl.c).
 */
#ifndef RB_PG_BASE_ACL_H
#define RB_PG_BASE_ACL_H

#include "pg/base/pg.h"

/*
 * Returns the locked relation, or raises an error if the caller has the privilege on none of its
 * columns.
 */
extern Relation rb_relation_open(Oid relid, LOCKMODE lock, AclMode right, const char *function,
								 const char *argument);

#endif /* RB_PG_BASE_ACL_H */
