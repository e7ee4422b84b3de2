import { Type, type Static } from 'typebox'

export const instancePolicySchema = Type.Object(
  {
    promotion: Type.Union([Type.Literal('prefer'), Type.Literal('neutral'), Type.Literal('never')], {
      default: 'neutral',
      description: 'Whether this instance is chosen before others, like others, or never as primary.',
    }),
    priority: Type.Integer({
      default: 0,
      minimum: -1000,
      maximum: 1000,
      description: 'Among equals the highest priority is chosen.',
    }),
  },
  { additionalProperties: false },
)

export type InstancePolicy = Static<typeof instancePolicySchema>
