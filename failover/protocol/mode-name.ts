/**
 * The ways of replicating, by name. Each is a folder in `failover/` and one in `agents/`; `async` lives with `semisync`
 * (decision 25). Two switches choose between them: `modeOf` of `failover/decide.ts`, and `modeOf` of
 * `agents/converge/mode-of.ts`.
 */
export const modes = ['semisync', 'async', 'group'] as const

export type ModeName = (typeof modes)[number]

/** The mode of a cluster whose spec names none. */
export const defaultMode: ModeName = 'semisync'

/**
 * Whether a commit waits for nobody (k = 0 always). What only a dead primary holds is then fetched from its volume, and
 * a silent primary is fenced by its lease alone.
 */
export function salvages({ mode }: { readonly mode: ModeName }): boolean {
  return mode === 'async'
}
