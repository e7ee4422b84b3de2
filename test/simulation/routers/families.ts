const routed = [
  ...['a router stands still', 'a router stands still', 'a router is started again', 'HAProxy is killed'],
  ...['a router is cut off from the managers', 'a router is cut off from agents', 'the socket of HAProxy is full'],
  'HAProxy refuses commands',
]
const shared = ['no manager is there', 'a switchover is asked for', 'mysqld is killed', 'the network is cut']

/** Some as long as the longest freeze: a router that wakes by itself finds another primary, and nothing healed. */
const lastsOneOfMs = [6_000, 12_000, 25_000, 90_000]

/** Clients write through routers that are stale, cut off and started again. */
export const routerFamilies = {
  routers: {
    routers: 2,
    kinds: [
      ...[...routed, ...shared, 'mysqld freezes', 'the machine is paused', 'the agent dies', 'the network is slow'],
      'the primary falls, and so does the elected one',
    ],
    instances: [2, 3, 3, 3, 5],
    lastsOneOfMs,
  },
  groupRouters: {
    mode: 'group',
    routers: 2,
    kinds: [...routed, ...shared, 'agent and mysqld die', 'the agent dies'],
    instances: [3, 3, 3, 5],
    lastsOneOfMs,
  },
} as const
