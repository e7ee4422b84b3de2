import { Type, type TSchema } from 'typebox'

/** A rule in CEL that the API server checks by itself, also while no webhook answers. */
export interface Rule {
  readonly rule: string
  readonly message: string
}

export const closed = <Properties extends Record<string, TSchema>>(
  properties: Properties,
  options: { readonly description?: string; readonly default?: unknown; readonly rules?: readonly Rule[] } = {},
) => {
  const { rules, ...rest } = options
  return Type.Object(properties, {
    additionalProperties: false,
    ...rest,
    ...(rules && { 'x-kubernetes-validations': rules }),
  })
}

export const oneOf = <Words extends readonly string[]>(
  words: readonly [...Words],
  initial: Words[number],
  description: string,
) => Type.Unsafe<Words[number]>({ type: 'string', enum: [...words], default: initial, description })

/** An object of Kubernetes' own, passed on as it is: the API server checks it where it is used. */
export const asKubernetesHasIt = (description: string) =>
  Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: 'object',
    description,
    'x-kubernetes-preserve-unknown-fields': true,
  })
export const listAsKubernetesHasIt = (description: string) =>
  Type.Unsafe<readonly Readonly<Record<string, unknown>>[]>({
    type: 'array',
    maxItems: 64,
    description,
    items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  })

export const texts = (description: string, longest = 63) =>
  Type.Record(Type.String(), Type.String({ maxLength: longest }), { default: {}, description })

const ipFamilyPolicies = ['SingleStack', 'PreferDualStack', 'RequireDualStack'] as const

/** Without a default: a Service of which nothing is said is as the cluster, or a hand, has it. */
export const ipFamilyPolicy = (unlessGiven: string) =>
  Type.Optional(
    Type.Unsafe<(typeof ipFamilyPolicies)[number]>({
      type: 'string',
      enum: [...ipFamilyPolicies],
      description: `Whether the Service has addresses of IPv4 and of IPv6, where the cluster has both; ${unlessGiven}.`,
    }),
  )
