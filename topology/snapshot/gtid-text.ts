/** GTID sets travel as MySQL prints them, without white space; `topology/gtid/gtid-set.ts` parses them. */
export type GtidText = string
