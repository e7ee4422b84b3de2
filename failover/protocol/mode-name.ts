/**
 * The ways of replicating, by name. Each is a folder in `failover/` and one in `agents/`. Two switches choose between
 * them: `modeOf` of `failover/decide.ts`, and `modeOf` of `agents/converge/mode-of.ts`.
 */
export const modes = ['semisync', 'group'] as const

export type ModeName = (typeof modes)[number]

/** Of a cluster whose spec names none. */
export const defaultMode: ModeName = 'semisync'
