import { Type, type Static } from 'typebox'

const milliseconds = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum })

/** What may be said of a router; what is left out has its default. */
export const routerSettingsSchema = Type.Object(
  {
    waitMs: Type.Optional(milliseconds(0, 60_000)),
    drainMs: Type.Optional(milliseconds(0, 3_600_000)),
    maxConnections: Type.Optional(Type.Integer({ minimum: 1, maximum: 9_000 })),
    reads: Type.Optional(
      Type.Object(
        {
          maxLagMs: Type.Optional(milliseconds(1, 86_400_000)),
          fallback: Type.Optional(Type.Enum(['primary', 'none'])),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)
export type SaidOfRouter = Static<typeof routerSettingsSchema>

export interface RouterSettings {
  /** So long a new session waits for a server. */
  readonly waitMs: number
  /** So long sessions may go on at a replica that left. */
  readonly drainMs: number
  /** Sessions at a time, at either port. */
  readonly maxConnections: number
  readonly reads: {
    readonly maxLagMs: number
    /** Where reads go while no replica may have them. */
    readonly fallback: 'primary' | 'none'
  }
}

export function routerSettings({ reads = {}, ...said }: SaidOfRouter): RouterSettings {
  return {
    waitMs: 2_000,
    drainMs: 30_000,
    maxConnections: 4_000,
    ...said,
    reads: { maxLagMs: 5_000, fallback: 'primary', ...reads },
  }
}
