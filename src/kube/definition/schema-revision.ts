/**
 * Grows with every change of the schemas. A manager refuses to start beside an older one: what it writes would be
 * refused. What the version before knew is taken still (`definition-before.test.ts`).
 */
export const schemaRevision = 18
export const schemaRevisionAnnotation = 'regent.dev/schema-revision'
