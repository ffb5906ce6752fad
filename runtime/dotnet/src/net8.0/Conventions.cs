using System;
using System.Collections.Generic;

namespace Weave.Runtime
{
    /// <summary>Brings what libraries say under old names to OpenTelemetry's stable conventions.</summary>
    internal static class Conventions
    {
        /// <summary>Old names, and behind each the stable one.</summary>
        private static readonly string[] Names =
        {
            "db.statement", "db.query.text", "db.system", "db.system.name", "db.name", "db.namespace", "db.operation", "db.operation.name",
            "http.method", "http.request.method", "http.status_code", "http.response.status_code", "http.url", "url.full", "http.target", "url.path",
            "http.scheme", "url.scheme", "http.user_agent", "user_agent.original", "net.peer.name", "server.address", "net.peer.port", "server.port",
            "net.host.name", "server.address", "net.host.port", "server.port", "grpc.method", "rpc.method", "grpc.status_code", "rpc.response.status_code",
            "messaging.destination", "messaging.destination.name",
        };

        /// <summary>What is said most; the first is a span's own name.</summary>
        internal static readonly string[] Usual =
        {
            "", "error.type", "server.address", "server.port", "http.request.method", "http.response.status_code", "network.protocol.version",
            "http.route", "url.scheme", "url.path", "url.query", "url.full", "user_agent.original", "db.query.text", "db.system.name",
            "db.namespace", "db.operation.name", "rpc.method", "rpc.response.status_code", "messaging.system", "messaging.destination.name",
            "messaging.operation.name", "messaging.operation.type",
        };

        /// <summary>Adds a value. The first of a name stays.</summary>
        internal static void Add(List<KeyValuePair<string, object>> tags, string name, object value)
        {
            for (int i = 0; i < Names.Length; i += 2)
            {
                if (Names[i] == name)
                {
                    name = Names[i + 1];
                    break;
                }
            }
            if (string.IsNullOrEmpty(name) || value == null)
            {
                return;
            }
            for (int i = 0; i < tags.Count; i++)
            {
                if (tags[i].Key == name)
                {
                    return;
                }
            }
            string text = value as string;
            if (text != null && name == "db.query.text")
            {
                value = Sanitizer.Sanitized(text);
            }
            else if (text != null && (name == "url.full" || name == "url.query"))
            {
                value = Unasked(text, name == "url.query");
            }
            tags.Add(new KeyValuePair<string, object>(name, value));
        }

        /// <summary>A URL without user, password and the values of its query.</summary>
        private static string Unasked(string url, bool isQuery)
        {
            int query = isQuery ? 0 : url.Length;
            int host = -1;
            int user = -1;
            bool isPath = false;
            for (int i = 0; i < query; i++)
            {
                char c = url[i];
                if (c == '?')
                {
                    query = i;
                }
                else if (c == '/' && host < 0 && i > 0 && url[i - 1] == '/')
                {
                    host = i + 1;
                }
                else
                {
                    isPath |= c == '/' && host >= 0;
                    user = c == '@' && host >= 0 && !isPath ? i : user;
                }
            }
            string path = user < 0 ? url.Substring(0, query) : url.Substring(0, host) + "***" + url.Substring(user, query - user);
            return query == url.Length ? path : path + "?*";
        }

        /// <summary>The name of a span: what the library says, or, where that is the operation's alone, what the conventions do of HTTP.</summary>
        internal static string Name(string display, string operation, List<KeyValuePair<string, object>> tags)
        {
            string method = null;
            string route = null;
            for (int i = 0; i < tags.Count; i++)
            {
                method = tags[i].Key == "http.request.method" ? tags[i].Value as string : method;
                route = tags[i].Key == "http.route" ? tags[i].Value as string : route;
            }
            if (display != operation || method == null)
            {
                return display;
            }
            return route == null ? method : method + " " + route;
        }
    }
}
