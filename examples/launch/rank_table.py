"""Prints a rank table for hosts and their numbers of devices: rank_table.py ADDRESS:COUNT...

    python3 rank_table.py 127.0.0.1:4 >table.json && ./rank_table.sh table.json SCRIPT

Ranks are numbered host by host. The table has version 1.0; Partita also reads the older form with `group_list`.
"""

import json
import sys


def table_of(hosts):
    rank, servers = 0, []
    for address, count in hosts:
        devices = [
            {"device_id": str(i), "device_ip": address, "rank_id": str(rank + i)} for i in range(count)
        ]
        servers.append({"server_id": address, "device": devices})
        rank += count
    return {"version": "1.0", "server_count": str(len(servers)), "server_list": servers, "status": "completed"}


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    pairs = [argument.rsplit(":", 1) for argument in sys.argv[1:]]
    print(json.dumps(table_of([(address, int(count)) for address, count in pairs]), indent=1))
