/** What an agent beside a mysqld has by itself, by KubeBlocks' names: for whoever knows such agents by name only. */
export const builtInNames = [
  'roleProbe',
  'healthyProbe',
  'availableProbe',
  'accountProvision',
  'readonly',
  'readwrite',
  'reconfigure',
  'postProvision',
  'preTerminate',
  'switchover',
  'memberJoin',
  'memberLeave',
  'dataDump',
  'dataLoad',
] as const

/** Built-in actions that are streams. */
export const builtInStreams: readonly string[] = ['dataDump']
