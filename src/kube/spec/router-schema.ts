import { Type } from 'typebox'
import { routerSettingsSchema } from '#failover/protocol/router-settings-schema.ts'
import { asKubernetesHasIt, closed, ipFamilyPolicy, oneOf, texts } from './schema-words.ts'

const { reads, ...settings } = routerSettingsSchema.properties

const port = (initial: number, what: string) =>
  Type.Integer({ default: initial, minimum: 1, maximum: 65_535, description: `Port of the Service for ${what}.` })

/** What a `MySQLCluster` says of its router: the core's own words, and what becomes an `App`. */
export const routerSchema = closed(
  {
    replicas: Type.Integer({ default: 2, minimum: 1, maximum: 16, description: 'So many routers run.' }),
    resources: Type.Optional(
      asKubernetesHasIt(
        'Requests and limits of each router; requests of 100m of cpu and 192Mi of memory unless given.',
      ),
    ),
    ports: closed(
      { write: port(3306, 'reads and writes'), read: port(3307, 'reads, which replicas answer') },
      { default: {}, description: 'Ports of Service <cluster>.' },
    ),
    service: closed(
      {
        type: oneOf(['ClusterIP', 'NodePort', 'LoadBalancer'], 'ClusterIP', 'How the Service can be reached.'),
        ipFamilyPolicy: ipFamilyPolicy('PreferDualStack unless given, and as the cluster says for a LoadBalancer'),
        annotations: texts('Annotations of the Service, such as those of a cloud’s load balancer.', 4_096),
      },
      { default: {}, description: 'Service <cluster>.' },
    ),
    ...settings,
    reads: Type.Optional(closed(reads.properties, { description: 'Which replicas are read.' })),
  },
  {
    description:
      'Routers in front of the cluster: Service <cluster>, whose address stays the same, also after a failover. None unless given.',
    rules: [
      {
        rule: '!has(self.ports) || self.ports.write != self.ports.read',
        message: 'ports.write and ports.read are the same; each needs its own',
      },
    ],
  },
)
