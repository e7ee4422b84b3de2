/** Tablespaces, and what InnoDB had in its buffer pool. Their names cannot be set otherwise (`failover/settings/`). */
const atTop = /^(?:ibdata\d+|undo_\d+|ib_buffer_pool|[^/]+\.ib[du])$/
const redo = /^#innodb_redo\/#ib_redo\d+(?:_tmp)?$/
/** Tables of other engines are made empty by CLONE. */
const ofTable = /^[^/#][^/]*\/[^/]+\.(?:ibd|sdi|MYD|MYI|CSV|CSM)$/
/** Marks in a copy that another folder got. With content they are lists of files that mysqld renames or removes. */
const mark = /^#clone\/[^/]+$/

/**
 * Whether CLONE leaves such a file in a folder that it made (`storage/innobase/clone/` of MySQL's source). Not among
 * them is what says how a server runs, and who it is: `mysqld-auto.cnf`, `auto.cnf`, `mysqld.my`, keys, binary logs.
 */
export function isOfClone(path: string, bytes: number): boolean {
  return atTop.test(path) || redo.test(path) || ofTable.test(path) || (bytes === 0 && mark.test(path))
}

/** What CLONE tells of its own work, in tables of the performance schema: nobody misses that in a copy. */
const told = /^#clone\/#view_(?:progress|status)$/

/** Whether a copy may go to a store with such a file in it: a restore takes the file, or the copy is whole without. */
export function mayBeCopied(path: string, bytes: number): boolean {
  return isOfClone(path, bytes) || told.test(path)
}
